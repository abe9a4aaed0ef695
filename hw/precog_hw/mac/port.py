"""A Gigabit port: packet streams of the core's clock on one side, GMII on the other."""

from amaranth.hdl import DomainRenamer, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.cdc import PulseSynchronizer
from amaranth.lib.fifo import SyncFIFOBuffered
from amaranth.lib.wiring import In, Out

from precog_hw.stream.crossing import Crossing
from precog_hw.stream.packet import packet_signature
from precog_hw.stream.skid import SkidBuffer
from precog_spec.frames.line import MOST_BYTES
from precog_spec.registers.mac import MAC_EVENTS

from .admission import Admission
from .gate import Gate
from .layouts import GMII_RX, GMII_TX, from_beat, to_beat, word_layout
from .receive import Receiver
from .transmit import Transmitter
from .width import Narrower, Widener

__all__ = ["MacPort"]

_BEGIN_WORDS = 16  # of a packet, before it begins to leave


class MacPort(wiring.Component):
    """A full duplex Gigabit MAC with its clock crossings.

    ::

        i ─► [gate] ─► [crossing] ─► [skid] ─► [narrower] ─► [transmitter] ─► gmii_tx
        o ◄─ [FIFO] ◄─ [admission] ◄─ [crossing] ◄─ [widener] ◄─ [receiver] ◄─ gmii_rx

    `precog_models.mac` is the golden model. A packet begins to leave when 16 words of it have come
    or all of it: then its source may come as slowly as a Gigabit line, 8 bytes in 64 ns, and be
    late once by 1 us. A damaged frame comes with `user.error` on its last beat, a packet that is
    so marked leaves with an inverted FCS. Padding of short frames is not removed. Frames that find
    no room are dropped: there is no PAUSE. ``sync`` and `tx_domain` are reset together: of a frame
    that this cuts nothing comes, and the line gets no more.

    Latency: 24 cycles of 125 MHz from the line to a core of 62.5 MHz, 21 and the gate's to the
    line. Throughput: a Gigabit line's in both directions, if the core takes and gives a beat in
    64 ns. Cost: block RAM for `depth` words, 2 of ECP5 for 512 of 64 bits.

    Parameters
    ----------
    width : int
        Bits in a beat, 64 or more.
    rx_domain, tx_domain : str
        GMII's clocks; the streams are in ``sync``.
    depth : int
        Words that wait for the core (power of two).
    most_bytes : int
        Longest frame that is taken, without FCS.
    relaxed : bool
        As `Gate`.

    Members
    -------
    i : In(packet_signature(width))
        To the line; ``sync``.
    o : Out(packet_signature(width))
        From the line; ``sync``.
    gmii_rx : In(GMII_RX)
        Of `rx_domain`.
    gmii_tx : Out(GMII_TX)
        Of `tx_domain`.
    events : Out(len(MAC_EVENTS))
        Strobes in ``sync``. Of the same kind, some are lost if frames follow each other within 6
        cycles of it, which whole ones do not.

    Raises
    ------
    ValueError
        `width`, `depth` or `most_bytes` is none of those.
    """

    def __init__(
        self,
        width: int,
        *,
        rx_domain: str,
        tx_domain: str,
        depth: int = 512,
        most_bytes: int = MOST_BYTES,
        relaxed: bool = False,
    ) -> None:
        if depth < 32 or depth & (depth - 1):
            raise ValueError(f"depth must be a power of two from 32 on, not {depth!r}")
        self._width, self._depth, self._relaxed = width, depth, relaxed
        self._rx, self._tx = rx_domain, tx_domain
        self._receiver = Receiver(most_bytes)
        self._widener, self._narrower = Widener(width), Narrower(width)
        packets = packet_signature(width)
        super().__init__(
            {
                "i": In(packets),
                "o": Out(packets),
                "gmii_rx": In(GMII_RX),
                "gmii_tx": Out(GMII_TX),
                "events": Out(len(MAC_EVENTS)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        strobes = {**self._transmit(m), **self._receive(m)}
        for n, (name, _) in enumerate(MAC_EVENTS):
            domain, strobe = strobes[name]
            if domain != "sync":
                m.submodules[f"{name}_event"] = event = PulseSynchronizer(domain, "sync")
                m.d.comb += event.i.eq(strobe)
                strobe = event.o
            m.d.comb += self.events[n].eq(strobe)
        return m

    def _transmit(self, m: Module) -> dict[str, tuple[str, object]]:
        """Beats to the line: gate, clock crossing, one byte a cycle, transmitter."""
        word = word_layout(self._width)
        renamed = DomainRenamer(self._tx)
        m.submodules.gate = gate = Gate(self._width, _BEGIN_WORDS, relaxed=self._relaxed)
        m.submodules.tx_crossing = crossing = Crossing(word, w_domain="sync", r_domain=self._tx)
        narrower, skid, transmitter = self._narrower, SkidBuffer(word), Transmitter()
        m.submodules.narrower = renamed(narrower)
        m.submodules.skid = renamed(skid)  # a byte's position is far from its state
        m.submodules.transmitter = renamed(transmitter)
        first = Signal(init=1)
        with m.If(self.i.valid & self.i.ready):
            m.d.sync += first.eq(self.i.payload.last)
        from_beat(m, gate.i.payload, self.i.payload, first)
        wiring.connect(m, gate.o, crossing.i)
        # A reset leaves the crossing the rest of a packet, which is not the next one's beginning.
        begun = Signal()
        goes = begun | crossing.o.payload.first
        with m.If(crossing.o.valid & goes):
            m.d[self._tx] += begun.eq(1)
        m.d.comb += [
            skid.i.valid.eq(crossing.o.valid & goes),
            skid.i.payload.eq(crossing.o.payload),
            crossing.o.ready.eq(skid.i.ready),
        ]
        wiring.connect(m, skid.o, narrower.i)
        wiring.connect(m, narrower.o, transmitter.i)
        m.d.comb += [
            gate.i.valid.eq(self.i.valid),
            self.i.ready.eq(gate.i.ready),
            self.gmii_tx.eq(transmitter.o),
        ]
        return {"underrun": (self._tx, transmitter.underrun)}

    def _receive(self, m: Module) -> dict[str, tuple[str, object]]:
        word = word_layout(self._width)
        renamed = DomainRenamer(self._rx)
        receiver, widener = self._receiver, self._widener
        admission = Admission(self._width, self._depth, self._depth // 2)
        m.submodules.receiver = renamed(receiver)
        m.submodules.widener = renamed(widener)
        m.submodules.admission = admission
        # The core's clock is fast enough: at most one word and a frame's last one wait here.
        m.submodules.rx_crossing = crossing = Crossing(word, w_domain=self._rx, r_domain="sync")
        m.submodules.rx_fifo = fifo = SyncFIFOBuffered(width=word.size, depth=self._depth)
        m.d.comb += [
            receiver.i.eq(self.gmii_rx),
            widener.stb.eq(receiver.stb),
            widener.octet.eq(receiver.octet),
            crossing.i.valid.eq(widener.o_stb),
            crossing.i.payload.eq(widener.o),
            crossing.o.ready.eq(1),
            admission.stb.eq(crossing.o.valid),
            admission.i.eq(crossing.o.payload),
            admission.level.eq(fifo.level),
            fifo.w_en.eq(admission.o_stb),
            fifo.w_data.eq(admission.o),
            self.o.valid.eq(fifo.r_rdy),
            fifo.r_en.eq(self.o.ready & fifo.r_rdy),
        ]
        to_beat(m, self.o.payload, word(fifo.r_data))
        strobes = {"received": receiver.good}
        strobes |= {name: getattr(receiver, name) for name in ("runt", "oversize", "damaged")}
        return {
            **{name: (self._rx, strobe) for name, strobe in strobes.items()},
            "dropped": ("sync", admission.dropped),
        }
