"""When the parser speaks: said once, for its own proof and for the path's."""

from typing import NamedTuple

from amaranth.hdl import Module, Signal, Value

from .packets import late

__all__ = ["Strobes", "parser_strobes"]


class Strobes(NamedTuple):
    """What the parser has to say of a packet stream, and when.

    Attributes
    ----------
    number : Signal
        The next beat's number in its packet; stays at the header window's length.
    parsed : Value
        One descriptor for each packet, when its headers or its end have come.
    tail : Value
        One tail for each packet, when its end has come.
    """

    number: Signal
    parsed: Value
    tail: Value


def parser_strobes(m: Module, taken: Value, last: Value, beats: int, latency: int) -> Strobes:
    """The parser's contract.

    Parameters
    ----------
    m : Module
    taken : Value
        A beat is transferred.
    last : Value
        It is its packet's last.
    beats : int
        Beats of the header window.
    latency : int
        Cycles.
    """
    number = Signal(range(beats + 1))
    with m.If(taken):
        m.d.sync += number.eq(number + (number != beats))
        with m.If(last):
            m.d.sync += number.eq(0)
    complete = taken & ((number == beats - 1) | (last & (number < beats)))
    return Strobes(
        number, late(m, complete, latency, "complete"), late(m, taken & last, latency, "end")
    )
