"""The block QP: a window on one queue pair's configuration and on its last decision."""

from precog_spec.registers.common import window_registers
from precog_spec.registers.model import Access, Block, Field, Register

__all__ = ["QP_CONFIG", "QP_STATUS", "qp_block"]

RW, RO = Access.RW, Access.RO

#: The configuration of one QP, as it stands in the QP block's window.
QP_CONFIG: tuple[Register, ...] = (
    Register(
        "CONTROL",
        "What the QP runs.",
        (
            Field("enable", 1, RW, "Samples of the QP are decided on."),
            Field(
                "algorithm",
                4,
                RW,
                "Rate law; 8 to 15: the program of that slot less 8, where there is a law engine. "
                "A code without a name is run as fixed.",
                lsb=4,
                values=(
                    ("fixed", 0),
                    ("pid", 1),
                    ("predpid", 2),
                ),
            ),
            Field(
                "target_mode",
                1,
                RW,
                "Where the RTT target comes from.",
                lsb=8,
                values=(("fixed", 0), ("base", 1)),
            ),
            Field("rttch", 1, RW, "The target adjuster moves the target.", lsb=9),
            Field("win", 1, RW, "The window limit is on; of pid and predpid.", lsb=10),
            Field("model_enable", 1, RW, "The QP names a model.", lsb=12),
            Field("model_slot", 8, RW, "Slot of the model map.", lsb=16),
        ),
        loadable=True,
    ),
    Register(
        "TARGET",
        "RTT target, or its initial value when the adjuster is on.",
        (Field("target", 32, RW, "RTT target.", unit="ticks", frac_bits=8),),
        loadable=True,
    ),
    *(
        Register(
            f"{kind.upper()}_RATE",
            f"{doc} rate.",
            (Field(f"{kind}_rate", 32, RW, f"{doc} rate.", unit="bytes/tick", frac_bits=24),),
            loadable=True,
        )
        for kind, doc in (("min", "Lowest"), ("max", "Highest"), ("init", "Initial"))
    ),
    Register(
        "SLA",
        "What the predictive scheduler does with the law's rate, between lowest and highest rate.",
        (
            Field("psched", 1, RW, "A congestion score moves the rate."),
            Field("sla_priority", 3, RW, "The higher, the less a score lowers.", lsb=4),
            Field(
                "sla_latency",
                24,
                RW,
                "No rise while the smoothed RTT is above this; 0: whatever it is.",
                lsb=8,
                unit="ticks",
            ),
        ),
        loadable=True,
    ),
)

#: What the core last decided for one QP: a consistent copy, taken by QP.COMMAND.fetch.
QP_STATUS: tuple[Register, ...] = tuple(
    Register(f"LAST_{name.upper()}", doc, (Field(name, bits, RO, doc, unit=unit, frac_bits=frac),))
    for name, bits, frac, unit, doc in (
        ("rate", 32, 24, "bytes/tick", "Rate."),
        ("window", 32, 0, "bytes", "Window; 0 means no limit."),
        ("rtt_pred", 32, 8, "ticks", "Predicted RTT of the last sample; 0: no prediction."),
        ("target", 32, 8, "ticks", "RTT target in use at the last sample."),
        ("base", 24, 0, "ticks", "Base RTT at the last sample."),
        ("srtt", 32, 8, "ticks", "Smoothed RTT S_t of the last sample, equation (2)."),
        ("flags", 16, 0, "", "Flags of the decision."),
        ("samples", 32, 0, "", "Decisions since power-up (wraps)."),
    )
)


def qp_block() -> Block:
    """The block."""
    return Block(
        "QP",
        "A window on one QP's configuration and on its last decision. Apply makes the whole "
        "configuration take effect at once; fetch reads configuration and decision at one instant.",
        id=0x11,
        version=(2, 1),
        registers=(
            *window_registers(
                "QP slot",
                (
                    ("fetch", "Copy configuration and last decision here."),
                    ("apply", "Write the configuration to the QP."),
                    (
                        "clear",
                        "Reset the QP: its law starts from the initial rate, its history is empty.",
                    ),
                ),
                "a QP slot",
                affects=("PACER.COUNTERS",),
            ),
            *QP_CONFIG,
            *QP_STATUS,
        ),
    )
