"""Losses: what the packet path sees that means one, once for all that was in flight with it.

Rules and state are those of `precog_models.measure.losses`.
"""

from amaranth.hdl import Module, Signal, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from precog_hw.rows import RowUpdate
from precog_hw.stream.delay import DelayLine
from precog_spec.contract import Fmt
from precog_spec.frames.headers import PSN_BITS

from .rtt_events import ACK_COMMIT, EventKind

__all__ = ["Losses"]

_ROW = data.StructLayout({"recovers": 1, "until": unsigned(PSN_BITS)})
_HEARD = data.StructLayout(
    {
        "resets": 1,
        "t": unsigned(Fmt.TIME.width),
        "lost": 1,
        "busy": 1,
        "psn": unsigned(PSN_BITS),
        "first": unsigned(PSN_BITS),  # the first that is not acknowledged
        "next": unsigned(PSN_BITS),
    }
)


class Losses(wiring.Component):
    """A row of each queue pair: what was in flight when a loss was told.

    ::

        commit ─► row ─► all of it acknowledged? sent since then? ─► lost
          0        3                                                  3

    Latency: 3 cycles. Throughput: an event of the collector per cycle. Cost: `RowUpdate` of 25
    bits.

    Parameters
    ----------
    qps : int
        Queue pairs, a power of two, 2 or more.
    relaxed : bool
        As `RowUpdate` has it.

    Members
    -------
    commit_stb, kind, slot, t, ack : In
        Of `RttCollector`'s `commit`.
    lost_stb, lost_slot, lost_t : Out
        A loss that laws hear of, and the time of the packet that is its sign.
    """

    LATENCY = RowUpdate.CYCLES

    def __init__(self, qps: int, *, relaxed: bool = False) -> None:
        self._qps, self._bits, self._relaxed = qps, (qps - 1).bit_length(), relaxed
        super().__init__(
            {
                "commit_stb": In(1),
                "kind": In(EventKind),
                "slot": In(self._bits),
                "t": In(Fmt.TIME.width),
                "ack": In(ACK_COMMIT),
                "lost_stb": Out(1),
                "lost_slot": Out(self._bits),
                "lost_t": Out(Fmt.TIME.width),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.rows = rows = RowUpdate(_ROW, self._qps, relaxed=self._relaxed)
        m.submodules.carried = carried = DelayLine(_HEARD, RowUpdate.CYCLES)
        ack, i, now = self.ack, carried.i, carried.o
        resets = self.kind == EventKind.RESET
        m.d.comb += [
            rows.i_stb.eq(self.commit_stb & (resets | (self.kind == EventKind.TX) | ack.answers)),
            rows.i_row.eq(self.slot),
            i.resets.eq(resets),
            i.t.eq(self.t),
            i.first.eq(ack.acked + 1),
            *(i[name].eq(ack[name]) for name in ("lost", "busy", "psn", "next")),
        ]
        old, new = rows.old, rows.new
        recovers, sent_before, told = Signal(), Signal(), Signal()
        m.d.comb += [
            # On a circle, the half behind is negative.
            recovers.eq(old.recovers & (now.first - old.until)[PSN_BITS - 1]),
            sent_before.eq((now.psn - old.until)[PSN_BITS - 1]),
            told.eq(now.lost & ~(recovers & sent_before)),
            new.recovers.eq(recovers),
            new.until.eq(old.until),
            self.lost_stb.eq(rows.stb & ~now.resets & told),
            self.lost_slot.eq(rows.row),
            self.lost_t.eq(now.t),
        ]
        with m.If(told | now.busy):
            m.d.comb += [new.recovers.eq(1), new.until.eq(now.next)]
        with m.If(now.resets):
            m.d.comb += new.eq(0)
        return m
