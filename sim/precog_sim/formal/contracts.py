"""What parts of the packet path promise each other: asserted of the part, assumed of its stub.

Each function here stands in two proofs with the same words. In the part's own proof `claim` is
`Assert` and the signals are the gateware's; in the proof of what is made of such parts it is
`Assume`, and the part's outputs are free in every cycle but for what the function says of them.
"""

from typing import Any, NamedTuple

from amaranth.hdl import Assert, Module, Mux, Signal, Value

from .packets import Claim, beat_of, well_formed

__all__ = ["Beats", "Chain", "beats_rules", "chain_rules", "queue_rules", "steadily"]

#: Cycles in which `PacketFifo` has beats inside and offers none, at most.
GAP = 2


def steadily(
    m: Module, waits: Value, ready: Value, cycles: int, name: str, claim: Claim = Assert
) -> Signal:
    """While the consumer takes in every cycle, `waits` is true for at most this many in a row.

    Returns
    -------
    age : Signal
        Such cycles so far.
    """
    age = Signal(range(cycles + 2), name=f"age_{name.replace(' ', '_')}")
    m.d.sync += age.eq(0)
    with m.If(waits & ready):
        m.d.sync += age.eq(age + 1)
    m.d.comb += [
        Assert(age <= cycles),
        claim(~(waits & ready) | (age < cycles), f"{name}, {cycles} cycles at most"),
    ]
    return age


def queue_rules(m: Module, claim: Claim, port: Any, depth: int, count: Value) -> None:
    """`Queue`: `count` payloads are inside.

    Parameters
    ----------
    m : Module
    claim : callable
    port : Queue
        It, or its stub.
    depth : int
    count : Value
    """
    m.d.comb += [
        claim(port.level == count, "the level is the number of payloads inside"),
        claim(port.o.valid == (count != 0), "what is inside is offered, and nothing else"),
        claim(port.i.ready == (count <= depth), "it refuses when it is full, and only then"),
        claim(count <= depth + 1, "no more payloads inside than fit"),
    ]


class Beats(NamedTuple):
    """What is in a FIFO of beats.

    Attributes
    ----------
    count : Signal
        Beats.
    ends : Signal
        Packets' last beats among them.
    behind : Signal
        Beats behind the last of these; all, if there is none.
    end : Signal
        Position of the first of these, counted from 1; 0: none.
    gap : Signal
        Cycles in which it has had beats and offered none.
    """

    count: Signal
    ends: Signal
    behind: Signal
    end: Signal
    gap: Signal


def beats_rules(
    m: Module, claim: Claim, port: Any, depth: int, next_end: Value, known: Claim = Assert
) -> Beats:
    """`PacketFifo` or a `Queue` of beats: in order, none lost, ends where they were put in.

    Parameters
    ----------
    m : Module
    claim : callable
    port : PacketFifo or Queue
        It, or its stub.
    depth : int
    next_end : Value
        Where an end leaves and two or more stay: the position of the first of them afterwards.
        Of a stub it is free.
    known : callable
        `Assume`, if what follows from the rules has been proved elsewhere.
    """
    size = range(depth + 3)
    names = ("count", "ends", "behind", "end")
    count, ends, behind, end = (Signal(size, name=f"beats_{name}") for name in names)
    gap = Signal(range(GAP + 1), name="beats_gap")
    put, take = port.i.valid & port.i.ready, port.o.valid & port.o.ready
    first_beat = beat_of(port.o)
    last_in, last_out = beat_of(port.i).last, first_beat.last
    end_in, end_out = put & last_in, take & last_out
    now, left, tail, first = (Signal(size, name=f"beats_{name}_next") for name in names)
    m.d.comb += [
        now.eq(count + put - take),
        left.eq(ends + end_in - end_out),
        tail.eq(Mux(end_in, 0, behind + put - (take & (ends == 0)))),
        first.eq(end),
    ]
    with m.If(left == 0):
        m.d.comb += first.eq(0)
    with m.Elif(left == 1):
        m.d.comb += first.eq(now - tail)
    with m.Elif(end_out):
        m.d.comb += first.eq(next_end)
    with m.Elif(take):
        m.d.comb += first.eq(end - 1)
    waits = (count != 0) & ~port.o.valid
    m.d.sync += [
        *(
            a.eq(b)
            for a, b in zip((count, ends, behind, end), (now, left, tail, first), strict=True)
        ),
        gap.eq(Mux(waits, gap + 1, 0)),
    ]
    m.d.comb += [
        claim(~port.o.valid | (count != 0), "nothing comes out of nothing"),
        claim(~port.o.valid | (last_out == (end == 1)), "an end stays where it was put in"),
        claim((first >= (left != 0)) & (first + left <= now - tail + 1), "so do those behind it"),
        claim(~port.o.valid | well_formed(first_beat), "`keep` stays as it must be"),
        claim(port.i.ready | (count >= depth), "it refuses only when it is full"),
        claim(~port.i.ready | (count < depth + 2), "no more beats inside than fit"),
        claim(~waits | (gap < GAP), "what is inside is offered in time"),
        # For inductions: what follows from that.
        known(gap <= GAP),
        known((gap == 0) | (count != 0)),
        known(count <= depth + 2),
        known(behind + ends <= count),
        known((ends != 0) | ((behind == count) & (end == 0))),
        known((ends != 1) | (end == count - behind)),
        known((ends == 0) | ((end != 0) & (end + ends <= count - behind + 1))),
    ]
    return Beats(count, ends, behind, end, gap)


class Chain(NamedTuple):
    """What is in the editor behind its first slices.

    Attributes
    ----------
    ends : Signal
        Last beats of packets that were taken, not dropped, and have not left.
    refused : Signal
        Cycles that the beat offered has been refused while its command was there and the consumer
        took in every cycle.
    waited : Signal
        Such cycles since an end that is inside, or one before it, has left.
    dropped : Value
        The last beat of a dropped packet is taken.
    """

    ends: Signal
    refused: Signal
    waited: Signal
    dropped: Value


#: By width: cycles that a beat is refused, cycles until an end leaves, ends that are inside.
CHAIN_REFUSALS = {8: 90, 64: 27}
CHAIN_CYCLES = {8: 236, 64: 77}
CHAIN_ENDS = 32


def chain_rules(m: Module, claim: Claim, i: Any, command: Any, o: Any, width: int) -> Chain:
    """The editor from `Patch` on: one command a packet, nothing lost, all in time.

    Parameters
    ----------
    m : Module
    claim : callable
    i : stream
        Beats; `payload.last`.
    command : stream
        Commands; `payload.edit`.
    o : stream
        Beats.
    width : int
    """
    from precog_hw.packet.layouts import Edit

    taken = i.valid & i.ready
    ends_in = taken & i.payload.last
    drop = command.payload.edit == Edit.DROP
    given = o.valid & o.ready & o.payload.last
    ends = Signal(range(CHAIN_ENDS + 2), name="chain_ends")
    m.d.sync += ends.eq(ends + (ends_in & ~drop) - given)
    m.d.comb += [
        claim(~taken | command.valid, "a beat is taken with its command"),
        claim((command.valid & command.ready) == ends_in, "a packet uses one command"),
        claim(~(o.valid & o.payload.last) | (ends != 0), "an end comes out for one that came in"),
        claim(ends <= CHAIN_ENDS, "no more ends are inside than fit"),
    ]
    refused = steadily(
        m,
        i.valid & ~i.ready & command.valid,
        o.ready,
        CHAIN_REFUSALS[width],
        "a beat is refused",
        claim,
    )
    waited = steadily(
        m, (ends != 0) & ~given, o.ready, CHAIN_CYCLES[width], "an end is inside", claim
    )
    return Chain(ends, refused, waited, ends_in & drop)
