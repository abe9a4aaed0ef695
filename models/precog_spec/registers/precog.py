"""Precog's register map, built from the sizes of a core.

Blocks in address order: ID, MEASURE, MODEL, PID, the other laws (`laws`) where there are any,
WATCHDOG, QP; then PACER, PROFILER and FORECAST (`pacer`, `profiler`, `forecast`), each where the
core has one; COUNTERS; the packet path's (`packet`) where there is one; RECEIVER, SENDERS, TRACE,
WIRE, ECC and LAW (`receiver`, `senders`, `trace`, `wire`, `ecc`, `law`), each where the core has
one; INTERRUPT and RESET (`interrupt`, `reset`); MAC (`mac`) where there are ports. Real quantities
keep the formats of `precog_spec.contract`; a test compares them. Times are in ticks of TICK_PS.
"""

from dataclasses import dataclass

from precog_spec.config import PACKET_PARTS, NicConfig
from precog_spec.registers.common import counter_registers, window_registers
from precog_spec.registers.ecc import ecc_block
from precog_spec.registers.forecast import forecast_block
from precog_spec.registers.interrupt import interrupt_block
from precog_spec.registers.law import law_block
from precog_spec.registers.laws import law_blocks
from precog_spec.registers.mac import mac_block
from precog_spec.registers.model import Access, Block, Field, Register, RegisterMap, Table
from precog_spec.registers.pacer import pacer_block
from precog_spec.registers.packet import packet_blocks
from precog_spec.registers.profiler import profiler_block
from precog_spec.registers.receiver import receiver_block
from precog_spec.registers.reset import reset_block
from precog_spec.registers.senders import senders_block
from precog_spec.registers.snapshot import snapshot_registers
from precog_spec.registers.trace import trace_block
from precog_spec.registers.watchdog import watchdog_block
from precog_spec.registers.wire import wire_block

__all__ = [
    "COUNTERS",
    "LOAD_STATUS",
    "MAGIC",
    "QP_CONFIG",
    "QP_STATUS",
    "Identity",
    "build_map",
]

MAGIC = 0x50524347  # "PRCG"

# Registers of ID that say whether a part was built: name, meaning, field of `NicConfig`, its own.
_PARTS = (
    ("LAWS", "Laws that the device was built with, in addition to fixed, pid and predpid.", "laws",
     "timely and dcqcn."),
    ("GRANTS", "Whether the device has a pacer that gives grants.", "grants", "It does."),
    ("PROFILE", "Whether the device has a queue profiler.", "profile", "It does."),
    ("FORECAST", "Whether each QP may have a second model, which forecasts its queue.", "forecast",
     "It may."),
    ("TREES", "What a queue model is.", "tree", "A decision tree, not an LSTM."),
    ("TRACING", "Whether the device has a trace FIFO.", "trace", "It does."),
    ("RECEIVES", "Whether the device has a receiver that acts on congestion scores.", "receiver",
     "It does."),
    ("GUARDS", "Whether stored models have check bits and are scrubbed.", "ecc", "They are."),
)  # fmt: skip

# What a packet path was built without: field of `NicConfig`, its meaning if it is off. Devices
# older than the choice have them all, and 0 here.
_WITHOUT = tuple(
    zip(
        PACKET_PARTS,
        (
            "Destinations have neither enables nor numbers.",
            "Packets with CE are not answered.",
            "The ICRC of received packets is not checked.",
        ),
        strict=True,
    )
)

RW, RO, W1C, PULSE = Access.RW, Access.RO, Access.W1C, Access.PULSE


@dataclass(frozen=True)
class Identity:
    """Facts that a core states about itself.

    Parameters
    ----------
    contract_hash : int
        `precog_spec.contract.CONTRACT_HASH`.
    tick_ps : int
        Length of a tick in picoseconds.
    inputs, outputs : int
        Largest model that the engine runs.
    """

    contract_hash: int
    tick_ps: int = 1000
    inputs: int = 8
    outputs: int = 16

    def __post_init__(self) -> None:
        if not 1 <= self.tick_ps < 1 << 24:
            raise ValueError(f"tick_ps must be in 1..16777215, not {self.tick_ps!r}")


#: What became of the last load, MODEL.STATUS.code.
LOAD_STATUS: tuple[tuple[str, int], ...] = (
    ("idle", 0),
    ("loading", 1),
    ("ok", 2),
    ("bad_crc", 3),
    ("bad_length", 4),
    ("bad_contract", 5),
    ("bad_header", 6),
    ("set_in_use", 7),
    ("not_begun", 8),
    ("bad_tree", 9),
)

#: (name, doc) of the 64-bit counters, in table order.
COUNTERS: tuple[tuple[str, str], ...] = (
    ("samples", "samples that came in"),
    ("decisions", "decisions made"),
    ("predictions", "decisions that used a prediction"),
    ("fallbacks", "predpid decisions without a live model (base law alone)"),
    ("advice_clamped", "predictions clamped to RTT * (1 +- advice limit)"),
    ("delta_clamped", "rate steps clamped to dmin or dmax"),
    ("rate_clamped", "rates clamped to the QP's minimum or maximum"),
    ("target_moves", "moves of the target adjuster"),
    ("dropped", "samples of a disabled QP or a slot that does not exist, or too many for the core"),
    ("load_errors", "model loads and map writes that were refused"),
    ("events", "events for laws that react to more than samples"),
    ("ignored", "of them those of a disabled QP, a slot that does not exist, or another law"),
    ("unskilled", "predictions not followed because persistence is better on the QP"),
    ("late", "decisions that did not wait longer for the predictor"),
    ("held", "decisions while advice was held"),
    ("scored", "decisions that a congestion score moved"),
    ("congested", "of them those with a score above the threshold"),
)

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
                values=(("fixed", 0), ("pid", 1), ("predpid", 2), ("timely", 3), ("dcqcn", 4)),
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
            Field("win", 1, RW, "The window limit is on; not for timely and dcqcn.", lsb=10),
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


def build_map(sizes: NicConfig, identity: Identity) -> RegisterMap:
    """The register map of a core.

    Parameters
    ----------
    sizes : NicConfig
    identity : Identity

    Returns
    -------
    RegisterMap
    """
    return RegisterMap(
        (
            _id_block(sizes, identity),
            _measure_block(identity),
            _model_block(sizes),
            _pid_block(identity),
            *(law_blocks(identity.tick_ps) if sizes.laws else ()),
            watchdog_block(),
            _qp_block(),
            *((pacer_block(wire=bool(sizes.wire)),) if sizes.grants else ()),
            *((profiler_block(),) if sizes.profile else ()),
            *((forecast_block(identity.tick_ps),) if sizes.forecast else ()),
            _counter_block(sizes),
            *(packet_blocks(sizes) if sizes.width else ()),
            *((receiver_block(identity.tick_ps),) if sizes.receiver else ()),
            *((senders_block(identity.tick_ps),) if sizes.senders else ()),
            *((trace_block(),) if sizes.trace else ()),
            *((wire_block(sizes.wire),) if sizes.wire else ()),
            *((ecc_block(sizes.sets, tree=bool(sizes.tree)),) if sizes.ecc else ()),
            *((law_block(sizes.law_cores, identity.tick_ps),) if sizes.law_cores else ()),
            interrupt_block(sizes),
            reset_block(sizes),
            *((mac_block(sizes.macs),) if sizes.macs else ()),
        )
    )


def _id_block(sizes: NicConfig, identity: Identity) -> Block:
    def constant(name: str, bits: int, value: int, doc: str, lsb: int = 0, unit: str = "") -> Field:
        return Field(name, bits, RO, doc, lsb=lsb, reset=value, unit=unit)

    return Block(
        "ID",
        "What this device is, how large it is, and which contract it keeps.",
        id=0x01,
        version=(1, 9),
        registers=(
            Register(
                "MAGIC", "'PRCG'.", (constant("magic", 32, MAGIC, "0x50524347."),), constant=True
            ),
            Register(
                "CONTRACT",
                "Hash of the number formats and tables; a model image must carry the same.",
                (constant("contract", 32, identity.contract_hash, "Contract hash."),),
                constant=True,
            ),
            Register(
                "TICK_PS",
                "Length of a tick.",
                (constant("tick_ps", 24, identity.tick_ps, "Tick.", unit="ps"),),
                constant=True,
            ),
            Register(
                "POOL",
                "Numbers of QP slots and of model sets.",
                (
                    constant("qps", 17, sizes.qps, "QP slots."),
                    constant("sets", 8, sizes.sets, "Model sets.", lsb=24),
                ),
                constant=True,
            ),
            Register(
                "ENGINE",
                "Size of the LSTM engine and of the models that it runs.",
                (
                    constant("lanes", 8, sizes.lanes, "Multiply-accumulate lanes."),
                    constant("columns", 4, sizes.columns, "Units finished per cycle.", lsb=8),
                    constant("steps", 4, sizes.steps, "Longest window T.", lsb=12),
                    constant("inputs", 4, identity.inputs, "Most inputs I.", lsb=16),
                    constant("outputs", 5, identity.outputs, "Most outputs O.", lsb=20),
                ),
                constant=True,
            ),
            Register("SCRATCH", "Does nothing.", (Field("scratch", 32, RW, "Any value."),)),
            Register(
                "PACKETS",
                "Whether packets flow through the device.",
                (
                    constant("width", 10, sizes.width, "Bits in a beat; 0: none do.", unit="bits"),
                    constant("macs", 2, sizes.macs, "Gigabit ports that count frames.", lsb=16),
                    constant("ipv6", 1, sizes.ipv6, "IPv6 packets are understood.", lsb=18),
                    *(
                        constant(f"no_{name}", 1, 1 - getattr(sizes, name), told, lsb=lsb)
                        for lsb, (name, told) in enumerate(_WITHOUT, 19)
                    ),
                    constant("senders", 1, sizes.senders, "QPs that send here count.", lsb=22),
                ),
                constant=True,
            ),
            *(
                Register(name, doc, (constant(size, 1, getattr(sizes, size), told),), constant=True)
                for name, doc, size, told in _PARTS
            ),
            Register(
                "CELLS",
                "Whether packets wait in the device for their grants.",
                (constant("wire", 16, sizes.wire, "Cells of their memory; 0: none wait."),),
                constant=True,
            ),
            Register(
                "LAW_ENGINE",
                "Whether the device runs laws that are programs.",
                (constant("law_cores", 4, sizes.law_cores, "Cores of its law engine; 0: none."),),
                constant=True,
            ),
        ),
    )


def _measure_block(identity: Identity) -> Block:
    return Block(
        "MEASURE",
        "How RTT samples become features.",
        id=0x02,
        version=(1, 0),
        registers=(
            Register(
                "SIGMA",
                "Weight of a new sample in the smoothed RTT, equation (2).",
                (
                    Field(
                        "sigma",
                        16,
                        RW,
                        "EWMA weight.",
                        reset=_fraction(0.2, 16),
                        frac_bits=16,
                    ),
                ),
            ),
            Register(
                "BASE_WINDOW",
                "Length of the base-RTT tracker's windowed minimum.",
                (
                    Field(
                        "base_window",
                        32,
                        RW,
                        "Window length.",
                        reset=_ticks(10_000.0, identity),
                        unit="ticks",
                    ),
                ),
            ),
        ),
    )


def _model_block(sizes: NicConfig) -> Block:
    number = Field("set", (sizes.sets - 1).bit_length(), RW, "Number of a set.")
    return Block(
        "MODEL",
        "Loader of the model sets, and the map from the slots that QPs name to sets.",
        id=0x03,
        version=(1, 1),
        registers=(
            Register(
                "SET",
                "The set that BEGIN takes.",
                (number,),
            ),
            Register(
                "CRC",
                "CRC-32 (Ethernet) expected over the image's 2048 bytes.",
                (Field("crc", 32, RW, "Expected CRC."),),
            ),
            Register(
                "COMMAND",
                "Begin invalidates the set and takes words; commit checks and makes it valid.",
                (
                    Field("begin", 1, PULSE, "Start a load into SET; refused while it is mapped."),
                    Field("commit", 1, PULSE, "End the load.", lsb=1),
                ),
                affects=("COUNTERS.COUNTERS",),
            ),
            Register(
                "DATA",
                "The next four bytes of the image, the first in the low byte.",
                (Field("data", 32, PULSE, "Image word."),),
                affects=("COUNTERS.COUNTERS",),
            ),
            Register(
                "WORDS",
                "Words taken since BEGIN.",
                (Field("words", 16, RO, "Words."),),
            ),
            Register(
                "STATUS",
                "What became of the last load.",
                (
                    Field("code", 4, RO, "Outcome.", values=LOAD_STATUS),
                    Field(
                        "busy",
                        1,
                        RO,
                        "A word or a command is being executed: the outcome is not yet seen.",
                        lsb=8,
                    ),
                ),
            ),
            Register(
                "ERROR",
                "What went wrong; each bit stays until 1 is written to it.",
                (
                    Field("load", 1, W1C, "A load failed or was refused."),
                    Field("map", 1, W1C, "A map write was refused.", lsb=1),
                ),
            ),
        ),
        tables=(
            Table(
                "SLOTS",
                "What a QP's model slot stands for. A write is refused, and changes nothing, "
                "when it enables a set that is not valid.",
                (
                    Register(
                        "SLOT",
                        "One entry of the map.",
                        (
                            number,
                            Field("enable", 1, RW, "The slot has a model.", lsb=8),
                        ),
                        affects=("MODEL.ERROR", "COUNTERS.COUNTERS"),
                    ),
                ),
                count=sizes.sets,
            ),
            Table(
                "SETS",
                "The pool of model sets.",
                (
                    Register(
                        "SET_STATE",
                        "Whether the set may be mapped.",
                        (Field("valid", 1, RO, "Holds a checked model."),),
                    ),
                    Register(
                        "SET_VERSION",
                        "Version from the image's header.",
                        (Field("version", 32, RO, "Version."),),
                    ),
                ),
                count=sizes.sets,
            ),
        ),
    )


def _pid_block(identity: Identity) -> Block:
    def gain(name: str, value: float, doc: str) -> Register:
        reset = _signed(_fraction(value, 13), 16)
        field = Field(name, 16, RW, doc, reset=reset, signed=True, frac_bits=13)
        return Register(name.upper(), doc, (field,))

    def bound(name: str, value: float, doc: str) -> Register:
        reset = _signed(_fraction(value, 16), 17)
        field = Field(name, 17, RW, doc, reset=reset, signed=True, frac_bits=16)
        return Register(name.upper(), doc, (field,))

    def ticks(name: str, us: float, doc: str) -> Register:
        reset = _ticks(us, identity) << 8
        field = Field(name, 32, RW, doc, reset=reset, unit="ticks", frac_bits=8)
        return Register(name.upper(), doc, (field,))

    return Block(
        "PID",
        "Parameters of the laws pid and predpid, shared by all QPs.",
        id=0x10,
        version=(2, 0),
        registers=(
            gain("kp", -0.358, "Proportional gain, equation (15)."),
            gain("ki", -0.060, "Gain of the mean error."),
            gain("kd", -0.040, "Derivative gain."),
            bound("dmin", -0.6, "Lowest rate step, equation (20)."),
            bound("dmax", 0.5, "Highest rate step, equation (20)."),
            Register(
                "ADVICE",
                "How far a prediction may lie from the measured RTT.",
                (
                    Field(
                        "advice_limit",
                        16,
                        RW,
                        "Prediction is clamped to RTT * (1 +- limit).",
                        reset=_fraction(0.25, 16),
                        frac_bits=16,
                    ),
                    Field("advice_clamp", 1, RW, "The clamp is on.", lsb=16, reset=1),
                ),
            ),
            Register(
                "ADVICE_USE",
                "When predictions and scores are followed.",
                (
                    Field(
                        "skill_monitor",
                        1,
                        RW,
                        "Not while a QP's predictions are worse than persistence, the mean of 64.",
                        reset=1,
                    ),
                    Field("advice_hold", 1, RW, "Never: the base laws decide alone.", lsb=1),
                ),
            ),
            Register(
                "ADVICE_DEADLINE",
                "How long a decision waits for its prediction once all else is ready.",
                (
                    Field(
                        "advice_deadline",
                        16,
                        RW,
                        "0: for ever.",
                        reset=4096,
                        unit="cycles",
                    ),
                ),
            ),
            ticks("queue_budget", 0.8, "Target minus base RTT, for QPs with target mode base."),
            Register(
                "RTTCH_THRESHOLD",
                "Samples on one side of the target before the adjuster moves it.",
                (Field("rttch_threshold", 8, RW, "Fires above this count.", reset=6),),
            ),
            ticks("rttch_margin", 0.2, "The adjuster keeps the target above base RTT plus this."),
            Register(
                "MTU",
                "Largest packet, for the window limit.",
                (Field("mtu", 16, RW, "Largest packet.", reset=1000, unit="bytes"),),
            ),
        ),
    )


def _qp_block() -> Block:
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


def _counter_block(sizes: NicConfig) -> Block:
    return Block(
        "COUNTERS",
        "The snapshot of all 64-bit counters, and those of the core, events since power-up: "
        + "; ".join(f"{n} {name}" for n, (name, _) in enumerate(COUNTERS)),
        id=0x20,
        version=(3, 0),
        registers=snapshot_registers(sizes),
        tables=(
            Table(
                "COUNTERS",
                "As of the last COMMAND.snapshot.",
                counter_registers(),
                count=len(COUNTERS),
            ),
        ),
    )


def _fraction(value: float, frac_bits: int) -> int:
    """Nearest integer to ``value * 2**frac_bits``, ties up."""
    return int((value * (1 << frac_bits) + 0.5) // 1)


def _signed(value: int, bits: int) -> int:
    """Two's complement of `value`."""
    return value & ((1 << bits) - 1)


def _ticks(us: float, identity: Identity) -> int:
    return round(us * 1e6 / identity.tick_ps)
