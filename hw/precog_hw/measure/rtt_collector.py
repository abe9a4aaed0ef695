"""RTT collector: one sample per round trip and queue pair, never overlapping, by PSN.

Rules are those of `precog_models.measure.rtt_collector`, thesis (1) and section 3.2.
"""

from amaranth.hdl import Assert, Cat, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from precog_hw.csr.layouts import SAMPLE
from precog_hw.stream.queue import Queue
from precog_spec.contract import Fmt
from precog_spec.frames.headers import PSN_BITS
from precog_spec.frames.opcodes import (
    ACKNOWLEDGES,
    PLAIN_ACKNOWLEDGES,
    READ_REQUEST,
    RELIABLE_REQUESTS,
    SOLICITED_ALWAYS,
    SYNDROME_ACK,
    SYNDROME_NAK,
    SYNDROME_RNR,
    SYNDROME_SEQUENCE_ERROR,
)

from .layouts import FLOOR_BITS, answer_layout, request_layout
from .rtt_events import EventKind, commit_layout, event_layout
from .rtt_pipeline import MTU_BITS, RttPipeline

__all__ = ["RttCollector"]

_SAMPLE_ROWS = 16  # behind them, one more in the queue's output
_IN_FLIGHT = RttPipeline.SAMPLE_LATENCY + 3  # granted, not in the sample queue's level yet


class RttCollector(wiring.Component):
    """Two streams of packets, the host's resets and a sweep share one pipeline.

    ::

        i_tx ─► requests of reliable services? ─► queue ─┐
        i_rx ─► answers, or with scores? ──────► queue ──┼► one of them ─► pipeline ─► queue ─► o
        i_reset ─────────────────────────────────────────┤                    └► commit
        sweep ───────────────────────────────────────────┘

    Resets go first, then TX and RX in turn. A slot is swept every `sweep_cycles` cycles, later if
    there are packets: a packet whose time-out has passed is given up although nothing else comes.
    While the sample queue might overflow nothing is granted; the input queues fill, and then
    `ready` falls. Packets that the rules do not count are taken and forgotten.

    `commit` is the order in which events took effect: golden models replay it.

    Latency: 11 cycles from a packet to its sample, if nothing else waits. Throughput: one event per
    cycle, of any slots. Cost at 1024 slots (ECP5): 8 DP16KD, 2037 LUT4, 360 CCU2C,
    76 DPR16X4 (the three queues), 2721 flip-flops.

    Parameters
    ----------
    slots : int
        Queue pairs, a power of two, 2 or more.
    sweep_cycles : int
        Cycles between looks at two slots, 1 or more.
    queue_depth : int
        Events of a direction that may wait (power of two), unless `relaxed`.
    senders : bool
        Packets bring levels, too; `answer_layout` and `commit_layout` have them then.
    acks : bool
        `commit` has the facts of acknowledgements, `ACK_COMMIT`.
    relaxed : bool
        Packets wait where they come from; samples as `Queue` with `block`, a cycle longer;
        an event in `RttPipeline.SAMPLE_LATENCY` + 1 cycles.

    Members
    -------
    i_tx : In(stream.Signature(request_layout(slots)))
        Packets that left.
    i_rx : In(stream.Signature(answer_layout(slots)))
        Packets that arrived without error.
    i_reset : In(stream.Signature(range(slots)))
        Host: forget the slot's state, as when it connects anew with another PSN.
    first : In(1)
        With a reset: it is the slot's first since power-up, and what it finds is of before that.
    o : Out(stream.Signature(SAMPLE))
        Samples.
    now : In(40)
        Ticks, for the sweep.
    timeout : In(32)
        Ticks after which a timed packet is given up; 0: never.
    any_packet : In(1)
        Also time packets that do not ask for an answer.
    floor : In(16)
        Ticks that a sample is longer than, or T2 - T1 is refused.
    mtu_stb : In(1)
        Host: write the path MTU of slot `mtu_slot`; 1024 bytes at power-up.
    mtu_slot : In(range(slots))
    mtu_log2 : In(4)
        8..12 for 256..4096 bytes; any other number stands for 4096.
    acked_stb, acked_slot, acked_psn : Out
        A peer has acknowledged all packets before a PSN; 1 cycle behind `i_rx`.
    commit_stb : Out(1)
        An event took effect.
    commit : Out(commit_layout(slots))
        With `commit_stb`: which one; `outcome` is 0 otherwise, so its bits are counters' strobes.
    rtt : Out(24)
        Of the event whose `commit` was `RTT_CYCLES` cycles ago, if it made a sample; ticks.

    Raises
    ------
    ValueError
        `slots` is not a power of two or smaller than 2, or `sweep_cycles` is not positive.
    """

    RTT_CYCLES = RttPipeline.SAMPLE_LATENCY - RttPipeline.LATENCY
    LATENCY = RttPipeline.SAMPLE_LATENCY + 3  # two queues and the arbiter's register

    i_tx: stream.Interface
    i_rx: stream.Interface
    i_reset: stream.Interface
    o: stream.Interface

    def __init__(
        self,
        slots: int,
        *,
        sweep_cycles: int = 64,
        queue_depth: int = 8,
        relaxed: bool = False,
        senders: bool = False,
        acks: bool = False,
    ) -> None:
        if slots < 2 or slots & (slots - 1):
            raise ValueError(f"slots must be a power of two, 2 or more, not {slots!r}")
        if sweep_cycles < 1:
            raise ValueError(f"sweep_cycles must be 1 or more, not {sweep_cycles!r}")
        self._slots, self._sweep_cycles, self._depth = slots, sweep_cycles, queue_depth
        self._relaxed, self._senders, self._acks = relaxed, senders, acks
        super().__init__(
            {
                "i_tx": In(stream.Signature(request_layout(slots))),
                "i_rx": In(stream.Signature(answer_layout(slots, senders=senders, acks=acks))),
                "i_reset": In(stream.Signature(range(slots))),
                "first": In(1),
                "o": Out(stream.Signature(SAMPLE)),
                "now": In(Fmt.TIME.width),
                "timeout": In(32),
                "any_packet": In(1),
                "floor": In(FLOOR_BITS),
                "mtu_stb": In(1),
                "mtu_slot": In(range(slots)),
                "mtu_log2": In(MTU_BITS),
                "acked_stb": Out(1),
                "acked_slot": Out(range(slots)),
                "acked_psn": Out(PSN_BITS),
                "commit_stb": Out(1),
                "commit": Out(commit_layout(slots, senders=senders, acks=acks)),
                "rtt": Out(Fmt.RTT.width),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        event = event_layout(self._slots, senders=self._senders, acks=self._acks)
        m.submodules.pipeline = pipeline = RttPipeline(
            self._slots, spaced=self._relaxed, senders=self._senders, acks=self._acks
        )
        m.submodules.samples = samples = Queue(SAMPLE, _SAMPLE_ROWS, block=self._relaxed)

        # Its level lags behind what was granted; see `_IN_FLIGHT`.
        room = Signal()
        m.d.sync += room.eq(samples.level <= _SAMPLE_ROWS + 1 - _IN_FLIGHT)
        may = room & ~self._recent(m, pipeline) if self._relaxed else room
        if self._relaxed:
            tx, rx = (stream.Signature(event).create(path=(name,)) for name in ("tx", "rx"))
            self._decode(m, tx, rx)
            self._grant(m, may, tx, rx, pipeline)
        else:
            m.submodules.tx = tx_queue = Queue(event, self._depth)
            m.submodules.rx = rx_queue = Queue(event, self._depth)
            self._decode(m, tx_queue.i, rx_queue.i)
            self._grant(m, may, tx_queue.o, rx_queue.o, pipeline)

        for name in ("mtu_stb", "mtu_slot", "mtu_log2", "timeout", "floor"):
            m.d.comb += getattr(pipeline, name).eq(getattr(self, name))
        m.d.comb += [
            self.commit_stb.eq(pipeline.commit_stb),
            self.commit.eq(pipeline.commit),
            self.rtt.eq(pipeline.sample_rtt),
            samples.i.valid.eq(pipeline.sample_stb),
            samples.i.payload.qp.eq(pipeline.sample_slot),
            samples.i.payload.rtt.eq(pipeline.sample_rtt),
            samples.i.payload.t.eq(pipeline.sample_t),
        ]
        m.d.sync += Assert(samples.i.ready | ~samples.i.valid, "a sample that was made has room")
        wiring.connect(m, samples.o, wiring.flipped(self.o))
        return m

    def _recent(self, m: Module, pipeline: RttPipeline) -> Value:
        """An event has been granted that has to stay: the next one must not follow so soon."""
        recent = Signal(RttPipeline.SAMPLE_LATENCY - 1)
        m.d.sync += recent.eq(Cat(pipeline.i_stb, recent))
        return pipeline.i_stb | recent.any()

    def _decode(self, m: Module, tx: stream.Interface, rx: stream.Interface) -> None:
        """Packets that count, as events."""
        sent, answer = self.i_tx.payload, self.i_rx.payload
        kind = answer.syndrome[5:7]
        plain = answer.opcode.matches(*PLAIN_ACKNOWLEDGES)
        refuses = plain & ((kind == SYNDROME_NAK) | (kind == SYNDROME_RNR))
        answers = answer.opcode.matches(*ACKNOWLEDGES) & (~plain | refuses | (kind == SYNDROME_ACK))
        acks = answers & rx.valid & rx.ready
        brings = answer.score.valid
        if self._senders:
            brings |= answer.senders.valid
        m.d.comb += [
            self.i_tx.ready.eq(tx.ready),
            tx.valid.eq(self.i_tx.valid & sent.opcode.matches(*RELIABLE_REQUESTS)),
            tx.payload.kind.eq(EventKind.TX),
            tx.payload.slot.eq(sent.slot),
            tx.payload.psn.eq(sent.psn),
            tx.payload.t.eq(sent.t),
            tx.payload.flag.eq(
                self.any_packet | sent.ack_req | sent.opcode.matches(*SOLICITED_ALWAYS)
            ),
            tx.payload.number.eq(sent.dma_length),
            tx.payload.counts.eq(sent.opcode.matches(*READ_REQUEST)),
            self.i_rx.ready.eq(rx.ready),
            # An acknowledge with a syndrome that there is not says nothing at all.
            rx.valid.eq(
                self.i_rx.valid & (answers | (brings & ~answer.opcode.matches(*ACKNOWLEDGES)))
            ),
            rx.payload.kind.eq(Mux(answers, EventKind.RX, EventKind.SCORE)),
            rx.payload.score.eq(answer.score),
            *([rx.payload.senders.eq(answer.senders)] if self._senders else []),
            rx.payload.slot.eq(answer.slot),
            rx.payload.psn.eq(answer.psn),
            rx.payload.t.eq(answer.t),
            rx.payload.flag.eq(refuses),
            rx.payload.number.eq(answer.turnaround),
            rx.payload.counts.eq(answer.turnaround_valid),
        ]
        if self._acks:
            m.d.comb += [
                rx.payload.plain.eq(plain & (kind == SYNDROME_ACK)),
                rx.payload.mark.eq(answer.mark),
                rx.payload.lacks.eq(plain & (answer.syndrome[:7] == SYNDROME_SEQUENCE_ERROR)),
                rx.payload.busy.eq(plain & (kind == SYNDROME_RNR)),
            ]
        m.d.sync += [
            self.acked_stb.eq(acks),
            self.acked_slot.eq(answer.slot),
            self.acked_psn.eq(
                Mux(refuses, answer.psn, answer.psn + 1)
            ),  # a NAK names what it lacks
        ]

    def _grant(
        self,
        m: Module,
        room: Value,
        tx: stream.Interface,
        rx: stream.Interface,
        pipeline: RttPipeline,
    ) -> None:
        """One event into the pipeline, from a register."""
        rx_turn = Signal()
        wait = Signal(range(self._sweep_cycles), init=self._sweep_cycles - 1)
        swept = Signal(range(self._slots))
        event = Signal(event_layout(self._slots, senders=self._senders, acks=self._acks))
        stb = Signal()
        m.d.comb += [pipeline.i_stb.eq(stb), pipeline.i.eq(event)]
        m.d.sync += stb.eq(0)
        with m.If(wait != 0):
            m.d.sync += wait.eq(wait - 1)
        with m.If(room):
            m.d.comb += [
                self.i_reset.ready.eq(1),
                tx.ready.eq(~self.i_reset.valid & ~(rx.valid & rx_turn)),
                rx.ready.eq(~self.i_reset.valid & ~(tx.valid & ~rx_turn)),
            ]
            packets = tx.valid | rx.valid
            m.d.sync += stb.eq(self.i_reset.valid | packets | (wait == 0))
            with m.If(self.i_reset.valid | ~packets):
                m.d.sync += [
                    event.kind.eq(Mux(self.i_reset.valid, EventKind.RESET, EventKind.SWEEP)),
                    event.slot.eq(Mux(self.i_reset.valid, self.i_reset.payload, swept)),
                    event.t.eq(self.now),
                    event.flag.eq(self.first),
                ]
            with m.Else():
                chosen = Mux(rx.valid & (rx_turn | ~tx.valid), rx.payload, tx.payload)
                m.d.sync += [event.eq(chosen), rx_turn.eq(tx.valid & ~(rx.valid & rx_turn))]
            with m.If(~self.i_reset.valid & ~packets & (wait == 0)):
                m.d.sync += [wait.eq(self._sweep_cycles - 1), swept.eq(swept + 1)]
