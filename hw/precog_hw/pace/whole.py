"""What the pacer's rows know where a grant is of a whole packet: two queues, PSNs, a window.

Of each queue pair the first packet of two queues may be asked for. One is subject to the window if
it `counts`; the other holds answers (ACKs, READ responses), which wait for the rate only, so that
no window of one end can wait for one of the other. The window is open for a packet while fewer
MTUs than it lie between the oldest PSN that is not acknowledged and the packet's own, or none do.
The connection's first packet that counts says where PSNs begin; an acknowledgement moves the
oldest one on, never back; and when the window of a packet has been shut over two EXPIRE without an
acknowledgement that moves it, what is in flight counts as gone. The golden model is
`precog_models.pace.pacer`.
"""

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import data

from .layouts import WAITS, WHOLE_REQUEST, EventKind, config_of
from .row_lanes import NewRow

__all__ = ["compare", "decide", "differences", "waits_of"]


def waits_of(row: data.View) -> data.View:
    """`WAITS` of a row, or of `COMPARED`."""
    return data.View(WAITS, row.backlog[: WAITS.size])


def differences(m: Module, e: data.View, row: data.View, d: data.View) -> None:
    """Cycle 2: the bytes that wait after a request; from the oldest PSN to the packet's."""
    asked = data.View(WHOLE_REQUEST, e.argument[: WHOLE_REQUEST.size])
    waits, after = waits_of(row), Signal(WAITS, name="asked")
    first = Signal(name="first_asked")
    m.d.comb += [
        first.eq((e.kind == EventKind.REQUEST) & ~asked.answers),
        after.eq(waits),
    ]
    with m.If(first):
        m.d.comb += [
            after.request.eq(asked.size),
            after.counts.eq(asked.counts),
            after.known.eq(waits.known | asked.counts),
        ]
    with m.Elif(e.kind == EventKind.REQUEST):
        m.d.comb += after.answer.eq(asked.size)
    m.d.sync += [
        d.backlog.eq(after),
        d.some.eq(after.request != 0),
        d.answer.eq(after.answer != 0),
        d.free.eq(~after.counts | (first & ~waits.known)),
        d.flight.eq(Mux(first, asked.psn, row.next) - row.una),
    ]


def compare(
    m: Module, e: data.View, row: data.View, d: data.View, c: data.View, overhead: Value, on: str
) -> tuple[Value, Value]:
    """Cycle 3: an acknowledgement that counts; the window is open whatever is in flight.

    `on` is the domain of what is passed on.
    """
    waits, takes = waits_of(row), Signal(name="takes")
    m.d.comb += takes.eq((e.kind == EventKind.ACK) & waits.known & ~d.acked[-1])
    m.d.sync += c.moves.eq(takes & (d.acked != 0))
    m.d[on] += [
        c.answer.eq(d.answer),
        c.wire.eq(waits.request + overhead),
        c.answer_wire.eq(waits.answer + overhead),
    ]
    behind = Mux(takes, d.rest[-1], d.flight[-1])  # the packet has been acknowledged
    return takes, d.free | behind | ((e.kind == EventKind.EXPIRE) & waits.stale)


def decide(m: Module, e: data.View, row: data.View, c: data.View, new: NewRow) -> Value:
    """Cycle 4: the row's `WAITS`, `next` and `una`; whether a GRANT is of an answer."""
    asked = data.View(WHOLE_REQUEST, e.argument[: WHOLE_REQUEST.size])
    waits, before, after = waits_of(row), waits_of(c), Signal(WAITS, name="waits")
    answers, shut = Signal(name="answers"), Signal(name="shut")
    grants, expires = e.kind == EventKind.GRANT, e.kind == EventKind.EXPIRE
    m.d.comb += [
        answers.eq(c.answer & (waits.turn | ~(c.some & c.open))),
        shut.eq(c.some & ~c.open),
        after.eq(before),
        after.shut.eq(shut),
        after.stale.eq(shut & (expires | (waits.stale & ~c.moves))),
    ]
    with m.If(grants & answers):
        m.d.comb += [after.answer.eq(0), after.turn.eq(0)]
    with m.Elif(grants & c.some & c.open):
        m.d.comb += [after.request.eq(0), after.turn.eq(1)]
    forgets = (e.kind == EventKind.CONFIG) & ~config_of(e).raises
    new.put(m, backlog=Mux(forgets, 0, after))
    with m.If((e.kind == EventKind.REQUEST) & ~asked.answers & asked.counts):
        new.put(m, next=asked.psn)
        with m.If(~waits.known):
            new.put(m, una=asked.psn)
    with m.If(expires & waits.stale):
        new.put(m, una=row.next)
    return answers
