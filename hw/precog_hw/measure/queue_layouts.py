"""What flows through the queue profiler."""

from amaranth.hdl import signed, unsigned
from amaranth.lib import data
from amaranth.utils import exact_log2

from precog_spec.contract import (
    PROFILE_CENTER,
    PROFILE_GAIN,
    PROFILE_INPUTS,
    QUEUE_EVENT_FIELDS,
    QUEUE_VALUE_FIELDS,
    Fmt,
)

__all__ = [
    "CENTERS",
    "EVERY_BITS",
    "GAINS",
    "PERIOD_BITS",
    "QUEUE_VALUES",
    "profile_layout",
    "queue_event_layout",
    "queue_read_layout",
    "raw_sample_layout",
]

PERIOD_BITS = 32  # ticks
EVERY_BITS = 16  # events

_INPUTS = len(PROFILE_INPUTS)

#: A queue's numbers as they are read.
QUEUE_VALUES = data.StructLayout({name: unsigned(bits) for name, bits in QUEUE_VALUE_FIELDS})

#: Of the normalisation, one for each input.
CENTERS = data.ArrayLayout(unsigned(PROFILE_CENTER.width), _INPUTS)
GAINS = data.ArrayLayout(unsigned(PROFILE_GAIN.width), _INPUTS)


def queue_event_layout(qps: int) -> data.StructLayout:
    """Something that happens to a queue pair's send queue: `QUEUE_EVENT_FIELDS`."""
    fields = dict(QUEUE_EVENT_FIELDS) | {"qp": exact_log2(qps)}
    return data.StructLayout({name: unsigned(bits) for name, bits in fields.items()})


def queue_read_layout(qps: int) -> data.StructLayout:
    """What the host asks: the numbers, and that counts and peak start again behind them.

    With `silent` the numbers that were asked for before go on being shown.
    """
    return data.StructLayout({"qp": exact_log2(qps), "clear": 1, "silent": 1})


def raw_sample_layout(qps: int) -> data.StructLayout:
    """A queue's numbers of one instant, `PROFILE_INPUTS`."""
    numbers = data.StructLayout({name: QUEUE_VALUES[name].shape for name in PROFILE_INPUTS})
    return data.StructLayout({"qp": exact_log2(qps), "t": Fmt.TIME.width, "numbers": numbers})


def profile_layout(qps: int) -> data.StructLayout:
    """Inputs of a `queue` head: `PROFILE_FIELDS`."""
    inputs = data.ArrayLayout(signed(Fmt.X.width), _INPUTS)
    return data.StructLayout({"qp": exact_log2(qps), "t": Fmt.TIME.width, "x": inputs})
