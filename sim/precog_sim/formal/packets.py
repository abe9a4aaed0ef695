"""What proofs of packet stages share: the rules of a packet stream, and clocks for the no-wedge."""

from collections.abc import Callable
from typing import Any

from amaranth.hdl import Assert, Assume, Module, Signal, Value

from .past import Past

__all__ = [
    "Claim",
    "assert_rules",
    "assert_stream",
    "assume_rules",
    "assume_stream",
    "beat_of",
    "in_time",
    "late",
    "well_formed",
]


#: `Assert` of what a part must keep, `Assume` of what stands for the part.
Claim = Callable[..., Any]


def well_formed(beat: Any) -> Value:
    """`keep` is contiguous from bit 0, has a bit, and is all ones but on the last beat."""
    keep = beat.keep
    contiguous = (keep & (keep + 1))[: len(keep)] == 0
    return keep[0] & contiguous & (beat.last | keep.all())


def assume_stream(m: Module, past: Past, port: Any, name: str) -> None:
    """The producer of a stream holds what was refused."""
    refused = past.known & past(port.valid & ~port.ready, f"{name}_refused")
    payload = Value.cast(port.payload)
    m.d.comb += [
        Assume(~refused | port.valid),
        Assume(~refused | (payload == past(payload, f"{name}_payload"))),
    ]


def beat_of(port: Any) -> Any:
    """A stream's payload, or the beat that is a part of it."""
    payload = port.payload
    return payload.beat if "beat" in dict(payload.shape()) else payload


def assume_rules(m: Module, past: Past, port: Any, name: str) -> None:
    """The producer of a packet stream keeps the rules."""
    assume_stream(m, past, port, name)
    m.d.comb += Assume(~port.valid | well_formed(beat_of(port)))


def assert_stream(m: Module, past: Past, port: Any, name: str) -> None:
    """The block holds at its output what was refused."""
    held = past.known & past(port.valid & ~port.ready, f"{name}_held")
    payload = Value.cast(port.payload)
    m.d.comb += [
        Assert(~held | port.valid, f"{name}: valid holds until the transfer"),
        Assert(~held | (payload == past(payload, f"{name}_payload")), f"{name}: so does the rest"),
    ]


def assert_rules(m: Module, past: Past, port: Any, name: str) -> None:
    """The block keeps the rules of a packet stream at its output."""
    assert_stream(m, past, port, name)
    m.d.comb += Assert(~port.valid | well_formed(beat_of(port)), f"{name}: keep is as it must be")


def in_time(
    m: Module, waits: Value, flows: Value, cycles: int, name: str, claim: Claim = Assert
) -> Signal:
    """While `waits` stays true, `flows` is true in at most `cycles` cycles; gives these so far."""
    age = Signal(range(cycles + 2), name=f"age_{name.replace(' ', '_')}")
    with m.If(~waits):
        m.d.sync += age.eq(0)
    with m.Elif(flows):
        m.d.sync += age.eq(age + 1)
    m.d.comb += [
        Assert(age <= cycles),
        claim(~(waits & flows) | (age < cycles), f"{name} in time"),
    ]
    return age


def late(m: Module, value: Value, cycles: int, name: str) -> Value:
    """The value some cycles ago."""
    for n in range(cycles):
        held = Signal.like(value, name=f"{name}_{n}")
        m.d.sync += held.eq(value)
        value = held
    return value
