"""Which units have work: what a clock gate needs to know.

A unit whose bit is 0 is at rest: a clock edge would change nothing of it that is ever seen. All
bits are functions of registers and of the NIC's inputs in the same cycle.
"""

from amaranth.hdl import Module, Signal, Value
from amaranth.lib import data

__all__ = ["ACTIVITY", "ALWAYS", "ENGINE_UNITS", "OPTIONAL", "UNITS", "hold"]

_ENGINE = "core.predictor.engine"

#: Unit: the components of the NIC that it is made of, `*` for all whose names begin so, a dot for
#: the registers of a component itself but those of `hold`; of `taps`, the registers in all of the
#: engine's components that take a word to the scrubber. What is not listed is never at rest.
UNITS: dict[str, tuple[str, ...]] = {
    "nic": (".",),
    "csr": ("front", "bank"),
    "results": ("window", "counters", "flight", "ecc_counters"),
    "core": ("core.",),
    "store": ("core.predictor.store",),
    "restart": ("core.predictor.restart",),
    "scrubber": ("core.predictor.scrubber", "core.predictor.check_bits"),
    "queues": ("core.samples", "core.srtts", "core.measured", "core.raws"),
    "feature": ("core.feature",),
    "sequencer": (f"{_ENGINE}.sequencer",),
    "cell": (f"{_ENGINE}.cell",),
    "inputs": (f"{_ENGINE}.cell.mult_x_*",),
    "gates": (f"{_ENGINE}.cell.gate_*", f"{_ENGINE}.cell.mult_fc_*", f"{_ENGINE}.cell.mult_ig_*"),
    "tanh": (f"{_ENGINE}.cell.tanh_*", f"{_ENGINE}.cell.mult_oh_*"),
    "mac": (f"{_ENGINE}.mac",),
    "lanes": (f"{_ENGINE}.mac.lanes",),
    "drain": (f"{_ENGINE}.mac.drain",),
    "head": (f"{_ENGINE}.head",),
    "taps": (),
    "rtt_head": ("core.head",),
    "rate": ("core.rate",),
    "adjuster": ("core.rate.adjuster",),
    "pid": ("core.rate.pid",),
    "skill": ("core.rate.skill",),
    "laws": ("core.laws",),
    "psched": ("core.psched",),
}

#: Parts of units that always have a clock: what counts time.
ALWAYS = ("core.predictor.scrubber.pause",)

#: Parts that a NIC may do without. A cell of few lanes has other ones, which work when it does.
OPTIONAL = (
    *UNITS["inputs"],
    *UNITS["gates"],
    *UNITS["tanh"],
    "core.laws",
    "core.psched",
    "core.raws",
    "core.predictor.scrubber",
    "core.predictor.check_bits",
    "core.predictor.scrubber.pause",
    "ecc_counters",
)

#: The engine's.
ENGINE_UNITS = tuple(
    unit for unit, parts in UNITS.items() if all(part.startswith(f"{_ENGINE}.") for part in parts)
)

ACTIVITY = data.StructLayout({name: 1 for name in UNITS})


def hold(m: Module, name: str, start: Value, cycles: int) -> Value:
    """`start`, and `cycles` cycles after it: the time in which a pipeline runs dry.

    Parameters
    ----------
    m : Module
    name : str
        For the counter's name.
    start : Value
        1 bit.
    cycles : int
    """
    left = Signal(range(cycles + 1), name=f"{name}_left")
    with m.If(start):
        m.d.sync += left.eq(cycles)
    with m.Elif(left != 0):
        m.d.sync += left.eq(left - 1)
    return start | (left != 0)
