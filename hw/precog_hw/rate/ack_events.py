"""Acknowledgements for programs: round trips of single packets, bytes, marks.

Rules and state are those of `precog_models.measure.ack_ring`.
"""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from precog_hw.csr.qp import config_layout
from precog_hw.latest import Latest
from precog_hw.measure.layouts import FLOOR_BITS
from precog_hw.measure.rtt_events import ACK_COMMIT, EventKind
from precog_hw.rate.law_layouts import LAW_ACK
from precog_hw.rows import BitMemory, RowMemory, RowUpdate
from precog_hw.stream.delay import DelayLine
from precog_spec.config import NicConfig
from precog_spec.contract import Fmt
from precog_spec.frames.headers import PSN_BITS
from precog_spec.law_fields import RING_PLACES, RING_STAMP_BITS

__all__ = ["AckEvents", "commit_of"]

_PLACE_BITS = (RING_PLACES - 1).bit_length()
_BYTES = unsigned(32)
_MARKS = 8  # marks of a queue pair, modulo 256: as many in one event would look like none
_EPOCH = 8  # resets with anything before them, modulo 256

#: The bytes that a queue pair has sent, and a packet in flight with the bytes up to its end.
_SENT = data.StructLayout({"bytes": _BYTES})
_PLACE = data.StructLayout(
    {"valid": 1, "tag": PSN_BITS - _PLACE_BITS, "t0": RING_STAMP_BITS, "bytes": _BYTES}
)
#: Bytes and marks of acknowledgements that are to be told, since the last reset of the queue pair.
_TOLD = data.StructLayout({"total": _BYTES, "marks": _MARKS, "epoch": _EPOCH})
#: Those, and the bytes up to the end of what is acknowledged.
_ACKED = data.StructLayout({"base": _BYTES, "told": _TOLD})


def commit_of(config: NicConfig) -> data.StructLayout:
    """An event of the RTT collector."""
    return data.StructLayout(
        {
            "kind": EventKind,
            "slot": config.qp_bits,
            "t": unsigned(Fmt.TIME.width),
            "ack": ACK_COMMIT,
        }
    )


class AckEvents(wiring.Component):
    """Acknowledgements of queue pairs that run programs; of those that wait the last one is told.

    ::

        commit ─┬─► bytes sent ─┬─► [ring] ─► round trip ─┬─► [last one of every queue pair] ─► o
                └───────────────┴─► bytes acknowledged ───┘       less what was told ──▲

    A queue pair waits once: while it does, a later acknowledgement replaces the earlier one, and
    its event has the bytes of both, and a mark if one of them has. The collector never waits for a
    program. A reset of a queue pair lets an acknowledgement that waits be told; if a later one
    replaces it, the bytes and marks of before the reset are forgotten.

    Latency: 16 cycles from `commit_stb` to `o`, if nothing else waits. Throughput: an event of the
    collector per cycle, one of `o` in 4 cycles. After a reset none may come for `qps` cycles. Cost:
    of each queue pair `RING_PLACES` rows of 86 bits, and rows of 32, 80, 48 and 160. At 1024 queue
    pairs 66 DP16KD, 1867 LUTs, 2688 flip-flops.

    Parameters
    ----------
    config : NicConfig

    Members
    -------
    commit_stb, commit : In(1), In(commit_of(config))
        As `RttCollector` has it.
    floor : In(16)
        As `RttCollector`.
    command_stb, command : In
        What is configured, as it is.
    merged : Out(1)
        Strobe: an acknowledgement replaces one that waits.
    o : Out(stream.Signature(LAW_ACK))
    """

    LATENCY = 16

    o: stream.Interface

    def __init__(self, config: NicConfig) -> None:
        self._qps, self._qp_bits, self._relaxed = config.qps, config.qp_bits, config.relaxed
        self._commit = commit_of(config)
        self._word = data.StructLayout(
            {
                "qp": unsigned(config.qp_bits),
                "t": unsigned(Fmt.TIME.width),
                "rtt": unsigned(Fmt.RTT.width),
                "told": _TOLD,
                "seq": unsigned(PSN_BITS),
                "next": unsigned(PSN_BITS),
            }
        )
        super().__init__(
            {
                "commit_stb": In(1),
                "commit": In(self._commit),
                "floor": In(FLOOR_BITS),
                "command_stb": In(1),
                "command": In(config_layout(config)),
                "merged": Out(1),
                "o": Out(stream.Signature(LAW_ACK)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.latest = latest = Latest(self._word, sliced=True, relaxed=self._relaxed)
        listens = BitMemory(m, "listens", unsigned(1), self._qps)
        command, write = self.command, listens.write
        m.d.comb += [
            write.en.eq(self.command_stb & command.apply),
            write.addr.eq(command.qp),
            write.data.eq(command.config.enable & command.config.algorithm[-1]),
            self.merged.eq(latest.merged),
        ]
        hit, late = self._rings(m)
        # Cycle 4: the round trip. Its event is the one of cycle 4 in `late`.
        event, ack = late.event, late.event.ack
        hit5, of5 = Signal(), Signal(late.shape())
        elapsed5, net = Signal(Fmt.RTT.width), Signal(33)
        turned = Signal()
        m.d.sync += [
            of5.eq(late),
            hit5.eq(hit & ~late.elapsed[Fmt.RTT.width :].any()),
            elapsed5.eq(late.elapsed),
            net.eq(late.elapsed[: Fmt.RTT.width] - ack.number),
            turned.eq(ack.counts),
        ]
        # Cycle 5: the bytes.
        rows, floor = self._acked, self.floor
        heard = listens.read(m, event.slot)
        new, moved = Signal(32), Signal(32)
        was, to_tell = rows.old.told, rows.new.told
        resets = of5.event.kind == EventKind.RESET
        m.d.comb += [
            new.eq(of5.bytes - rows.old.base),
            moved.eq(Mux(hit5 & ~new[-1], new, 0)),
            rows.new.base.eq(Mux(resets, of5.bytes, rows.old.base + moved)),
            to_tell.total.eq(was.total + Mux(heard, moved, 0)),
            to_tell.marks.eq(was.marks + (heard & of5.event.ack.fresh & of5.event.ack.mark)),
            to_tell.epoch.eq(was.epoch),
        ]
        with m.If(resets):
            # An epoch that told nothing need not end: it cannot be taken for a later one.
            m.d.comb += [
                to_tell.eq(0),
                to_tell.epoch.eq(was.epoch + ((was.total != 0) | (was.marks != 0))),
            ]
        rtt = Mux(turned & ~net[-1] & (net > floor), net[: Fmt.RTT.width], elapsed5)
        stb, word = Signal(), Signal(self._word)
        m.d.sync += [
            stb.eq(rows.stb & hit5 & heard),
            word.qp.eq(of5.event.slot),
            word.t.eq(of5.event.t),
            word.rtt.eq(Mux(rtt == 0, 1, rtt)),
            word.told.eq(to_tell),
            word.seq.eq(of5.event.ack.psn + 1),
            word.next.eq(of5.event.ack.next),
        ]
        m.d.comb += [latest.i_stb.eq(stb), latest.tells.eq(1), latest.i.eq(word)]
        self._offer(m, latest)
        return m

    def _rings(self, m: Module) -> tuple[Signal, data.View]:
        """Cycles 0 to 4: whether an acknowledgement is of a timed packet, and what is there.

        The rows of bytes that are acknowledged are looked up with it, for cycle 5.
        """
        event, kind = self.commit, self.commit.kind
        forms = {"sliced": True, "relaxed": self._relaxed}
        m.submodules.sent = sent = RowUpdate(_SENT, self._qps, **forms)
        m.submodules.ring = ring = RowUpdate(_PLACE, self._qps * RING_PLACES, **forms)
        m.submodules.acked = self._acked = acked = RowUpdate(_ACKED, self._qps, **forms)
        carried = data.StructLayout({"event": self._commit, "flying": PSN_BITS})
        m.submodules.carried = line = DelayLine(carried, RowUpdate.CYCLES - 1)
        first, works, after = Signal(carried), Signal(), Signal(2)
        m.d.comb += [
            works.eq(
                self.commit_stb
                & (
                    (kind == EventKind.TX)
                    | ((kind == EventKind.RX) & event.ack.fresh)
                    | (kind == EventKind.RESET)
                )
            ),
            sent.i_stb.eq(works),
            sent.i_row.eq(event.slot),
            ring.i_stb.eq(works),
            ring.i_row.eq(Cat(event.ack.psn[:_PLACE_BITS], event.slot)),
            line.i.eq(first),
        ]
        m.d.sync += [
            first.event.eq(event),
            first.flying.eq(event.ack.psn - 1 - event.ack.acked),
            after.eq(Cat(works, after)),
        ]
        slot2 = Signal(self._qp_bits)
        m.d.sync += slot2.eq(first.event.slot)
        m.d.comb += [acked.i_stb.eq(after[1]), acked.i_row.eq(slot2)]

        # Cycle 3: the sum, and the packet's place.
        now, place = line.o, ring.old
        ack = now.event.ack
        tag = ack.psn[_PLACE_BITS:]
        is_tx, same, total = Signal(), Signal(), Signal(32)
        age, flies = Signal(PSN_BITS - _PLACE_BITS), Signal()
        m.d.comb += [
            is_tx.eq(now.event.kind == EventKind.TX),
            same.eq(place.tag == tag),
            total.eq(sent.old.bytes + Mux(is_tx & ack.new & ~ack.counts, ack.number, 0)),
            age.eq(tag - place.tag),
            # Sent in the packet's round, and not acknowledged: there are more in flight than since.
            flies.eq(~same & (now.flying[_PLACE_BITS:] >= age)),
            sent.new.bytes.eq(total),
            ring.new.eq(place),
        ]
        with m.If(is_tx & ack.new & ~(place.valid & flies)):
            m.d.comb += [
                ring.new.valid.eq(1),
                ring.new.tag.eq(tag),
                ring.new.t0.eq(now.event.t),
                ring.new.bytes.eq(total),
            ]
        with m.If(is_tx & ~ack.new & same):
            m.d.comb += ring.new.valid.eq(0)
        hit = Signal()
        late = Signal(
            data.StructLayout({"event": self._commit, "elapsed": RING_STAMP_BITS, "bytes": _BYTES})
        )
        m.d.sync += [
            hit.eq(ring.stb & (now.event.kind == EventKind.RX) & place.valid & same),
            late.event.eq(now.event),
            late.elapsed.eq(now.event.t - place.t0),
            late.bytes.eq(Mux(now.event.kind == EventKind.RX, place.bytes, total)),
        ]
        return hit, late

    def _offer(self, m: Module, latest: Latest) -> None:
        """An acknowledgement has what was not told before."""
        m.submodules.told = told = RowMemory(_TOLD, self._qps, sliced=True, relaxed=self._relaxed)
        word, ack = Signal(self._word), self.o.payload
        was = Signal(_TOLD)
        m.d.comb += was.eq(told.read_data)
        with m.If(told.read_data.epoch != word.told.epoch):
            m.d.comb += was.eq(0)
        m.d.comb += [
            told.read_row.eq(word.qp),
            told.write_row.eq(word.qp),
            told.write_data.eq(word.told),
            *(ack[name].eq(word[name]) for name in ("qp", "t", "rtt", "seq", "next")),
            ack.bytes.eq(word.told.total - was.total),
            ack.marked.eq(word.told.marks != was.marks),
        ]
        with m.FSM(name="tells"):
            with m.State("TAKE"):
                m.d.comb += latest.o.ready.eq(Const(1))
                m.d.sync += word.eq(latest.o.payload)
                with m.If(latest.o.valid):
                    m.next = "READ"
            with m.State("READ"):
                m.next = "WAIT"
            with m.State("WAIT"):
                m.next = "OFFER"
            with m.State("OFFER"):
                m.d.comb += [self.o.valid.eq(1), told.write_stb.eq(self.o.ready)]
                with m.If(self.o.ready):
                    m.next = "TAKE"
