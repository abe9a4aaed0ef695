"""The block FORECAST: queue pairs' second models, calibration of scores, counters.

It stands in the map of a NIC with `NicConfig.forecast`. Names of fields are those of
`precog_models.predict.forecast`; a test compares them.
"""

from precog_spec.registers.common import counter_registers, ticks_of, window_registers
from precog_spec.registers.model import Access, Block, Field, Register, Table

__all__ = ["FORECAST_EVENTS", "FORECAST_PAIR", "KNOT_STRIDE", "forecast_block"]

_RW = Access.RW

#: Places that a calibration table takes; first the `rtt` model's, then the `queue` model's.
KNOT_STRIDE = 128

#: (name, doc) of the 64-bit counters, in table order.
FORECAST_EVENTS: tuple[tuple[str, str], ...] = (
    ("forecasts", "forecasts made"),
    ("no_model", "of them those without a valid model"),
    ("dropped", "profiles of a QP that is disabled or does not exist"),
    ("stale", "decisions not scored because another was being scored"),
    ("wrong_head", "models not used because their head is of the other kind"),
    ("carried", "scores that went into a QP's packets"),
    ("expired", "scores taken out of packets: too old, or their model is not there any more"),
)

#: A queue pair's configuration, as FORECAST's window shows it.
FORECAST_PAIR: tuple[Register, ...] = (
    Register(
        "QUEUE_MODEL",
        "The model that forecasts the QP's queue, in addition to the one that QP.CONTROL names.",
        (
            Field("queue_enable", 1, _RW, "The QP names a queue model."),
            Field("queue_slot", 8, _RW, "Slot of the model map.", lsb=8),
            Field(
                "score_source",
                2,
                _RW,
                "Whose score the predictive scheduler of the QP is told.",
                lsb=16,
                values=(("none", 0), ("queue", 1), ("rtt", 2), ("max", 3)),
            ),
        ),
        loadable=True,
    ),
)


def forecast_block(tick_ps: int) -> Block:
    """The block.

    Parameters
    ----------
    tick_ps : int
        Length of a tick in picoseconds.
    """
    return Block(
        "FORECAST",
        "Forecasts of queues, and congestion scores. Apply lets a QP's configuration take effect "
        "with its next profile.",
        id=0x18,
        version=(1, 1),
        registers=(
            *window_registers(
                "QP slot",
                (("fetch", "Copy the configuration here."), ("apply", "Write it to the QP.")),
                "a QP",
            ),
            *FORECAST_PAIR,
            Register(
                "THRESHOLD",
                "Where congestion begins.",
                (
                    Field(
                        "threshold_bin", 4, _RW, "First bin of queue length that counts.", reset=8
                    ),
                ),
            ),
            Register(
                "BUDGET",
                "Queueing delay of a predicted RTT that counts as congestion: at the middle of its "
                "calibration table.",
                (
                    Field(
                        "rtt_budget", 24, _RW, "Delay.", reset=ticks_of(5.0, tick_ps), unit="ticks"
                    ),
                ),
            ),
            Register(
                "CARRY_AGE",
                "How long packets carry a predicted score; QPs are looked at in turn, each once in "
                "4 cycles for every QP.",
                (
                    Field(
                        "carry_age",
                        32,
                        _RW,
                        "Age; 0: until the next one.",
                        reset=ticks_of(200.0, tick_ps),
                        unit="ticks",
                    ),
                ),
            ),
            Register(
                "KNOT",
                "The knot that VALUE shows: 0..64 of the rtt model's table, 128..192 of the queue "
                "model's. Between knots scores are interpolated.",
                (Field("knot", 8, _RW, "Number."),),
                affects=("FORECAST.KNOT_VALUE",),
            ),
            Register(
                "KNOT_WRITE",
                "Writes the knot that KNOT names.",
                (
                    Field(
                        "new_value",
                        16,
                        Access.PULSE,
                        "Probability, at most 1; at power-up knot k of a table is k / 64.",
                        frac_bits=15,
                    ),
                ),
            ),
            Register(
                "KNOT_VALUE",
                "The knot that KNOT names, a few accesses later.",
                (Field("value", 16, Access.RO, "Probability.", frac_bits=15),),
            ),
        ),
        tables=(
            Table(
                "COUNTERS",
                "Events since reset, as of the last COUNTERS.COMMAND.snapshot: "
                + "; ".join(f"{n} {name}" for n, (name, _) in enumerate(FORECAST_EVENTS)),
                counter_registers(),
                count=len(FORECAST_EVENTS),
            ),
        ),
    )
