"""Etherbone bridge: datagrams of LiteX's Etherbone, AXI4-Lite master behind them.

`precog_models.bridge.etherbone` is the golden model; `precog_spec.frames.bridge` says what stands
in a datagram, what a ticket is, and what the window at the end of the address space tells.

Around it stands a UDP core: it hands over the payload of each datagram for the bridge's port (1234)
whose checksum is right, keeps the sender's address and port until the answer has left, and sends
the answer there. While a request is executed the next one waits.
"""

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from precog_hw.csr.axil import AxiLite
from precog_spec.frames.bridge import (
    ETHERBONE_MAGIC,
    ETHERBONE_SIZES,
    ETHERBONE_VERSION,
    MOST_WORDS,
    PACKET_HEADER,
    RECORD_HEADER,
    EtherboneFault,
)

from .access import BUS_TIMEOUT_CYCLES, BridgeAccess

__all__ = ["ANSWER_BYTE", "REQUEST_BYTE", "EtherboneBridge"]

REQUEST_BYTE = data.StructLayout({"byte": 8, "last": 1, "error": 1})  # error counts with last
ANSWER_BYTE = data.StructLayout({"byte": 8, "last": 1})

_HEADER_WORDS = (PACKET_HEADER + RECORD_HEADER) // 4
_ROWS = 256  # words of a request: 133 at most
_COUNT_BITS = 12  # bytes of a datagram; 2060 are the most that a record can say
_PROBE = 0
_SPACES = 0b0110_0111
_PROBE_HEAD = ETHERBONE_MAGIC << 16 | ETHERBONE_VERSION << 12 | 2 << 8 | ETHERBONE_SIZES
_HEAD = ETHERBONE_MAGIC << 16 | ETHERBONE_VERSION << 12 | ETHERBONE_SIZES


class EtherboneBridge(wiring.Component):
    """Executes a datagram whole or not at all, and answers what it reads.

    ::

        i ─► [request] ─► check, ticket ─► access ─► axil
        o ◄─ [answer] ◄──────────────────────┘ reads

    A request with the ticket of the last answer gets that answer again; nothing is executed.

    Latency: some 10 cycles, 4 and the bus's for each word written, 5 and the bus's for each read.
    Throughput: one request at a time; a byte per cycle in, two bytes in three cycles out.
    Cost: about 500 flip-flops, 256 and 128 words of RAM.

    Parameters
    ----------
    address_bits : int
        Of the bus.
    bus_timeout_cycles : int
        As `BridgeAccess`.

    Members
    -------
    i : In(stream.Signature(REQUEST_BYTE))
        Payloads. One that ends with `error` is dropped and counted as one of a wrong length.
    o : Out(stream.Signature(ANSWER_BYTE))
        Payloads of answers.
    length : Out(12)
        While `o` is valid: bytes of the payload.
    axil : Out(AxiLite(address_bits))

    Raises
    ------
    ValueError
        As `BridgeAccess`.
    """

    i: stream.Interface
    o: stream.Interface

    def __init__(
        self, address_bits: int = 16, *, bus_timeout_cycles: int = BUS_TIMEOUT_CYCLES
    ) -> None:
        self._access = BridgeAccess(address_bits, bus_timeout_cycles=bus_timeout_cycles)
        super().__init__(
            {
                "i": In(stream.Signature(REQUEST_BYTE)),
                "o": Out(stream.Signature(ANSWER_BYTE)),
                "length": Out(_COUNT_BITS),
                "axil": Out(AxiLite(address_bits)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.access = access = self._access
        m.submodules.request = request = Memory(shape=32, depth=_ROWS, init=[])
        m.submodules.answer = answer = Memory(shape=32, depth=2 * MOST_WORDS, init=[])
        wiring.connect(m, access.axil, wiring.flipped(self.axil))

        # A request: its bytes, and of them the words of both headers.
        count = Signal(_COUNT_BITS)
        partial = Signal(24)
        heads = [Signal(32, name=f"head_{n}") for n in range(_HEADER_WORDS)]
        came = Cat(self.i.payload.byte, partial)
        store = request.write_port()
        m.d.comb += [store.addr.eq(count[2:]), store.data.eq(came)]

        writes, reads = Signal(8), Signal(8)
        m.d.comb += [writes.eq(heads[2][8:16]), reads.eq(heads[2][:8])]
        verdict = self._judge(m, count, heads, writes, reads)

        at = Signal(range(_ROWS))  # row that `word` is one cycle later
        fetch = request.read_port()
        word = fetch.data
        m.d.comb += fetch.addr.eq(at)
        address, value = Signal(34), Signal(32)
        n = Signal(8)
        ticket, last_ticket, last_reads = Signal(32), Signal(32), Signal(8)
        behind = Signal(16)
        stale = Signal()
        m.d.comb += [
            behind.eq(last_ticket[:16] - word[:16]),
            stale.eq((last_ticket[16:] == word[16:]) & (behind != 0) & ~behind[15]),
            access.address.eq(address),
            access.data.eq(value),
        ]
        # Answers without a ticket do not push out the one that may be asked for again.
        half = Signal()
        keep = answer.write_port()
        again = answer.read_port()
        m.d.comb += [keep.addr.eq(Cat(n[:6], half)), keep.data.eq(access.result)]

        probe = Signal()
        index, total = Signal(8), Signal(8)  # words of the answer
        m.d.comb += [
            again.addr.eq(Cat((index - (_HEADER_WORDS + 1))[:6], half)),
            self.length.eq(total << 2),
        ]
        out, lane = Signal(32), Signal(2)

        def drop(kind: EtherboneFault) -> None:
            m.d.comb += access.faults[kind].eq(1)
            m.next = "RECEIVE"

        with m.FSM(name="etherbone"):
            with m.State("RECEIVE"):
                m.d.comb += self.i.ready.eq(1)
                m.d.sync += [index.eq(0), lane.eq(0), n.eq(0), probe.eq(0)]
                with m.If(self.i.valid):
                    m.d.comb += store.en.eq((count[:2] == 3) & (count < 4 * _ROWS))
                    m.d.sync += partial.eq(came)
                    with m.If(~count.all()):
                        m.d.sync += count.eq(count + 1)
                    for place, head in enumerate(heads):
                        with m.If(count == 4 * place + 3):
                            m.d.sync += head.eq(came)
                    with m.If(self.i.payload.last):
                        m.next = "CHECK"
                        with m.If(self.i.payload.error):
                            m.d.sync += count.eq(0)
                            drop(EtherboneFault.LENGTH)
            with m.State("CHECK"):
                m.d.sync += [count.eq(0), ticket.eq(0), half.eq(1)]
                with m.If(verdict["probe"]):
                    m.d.sync += [probe.eq(1), total.eq(PACKET_HEADER // 4)]
                    m.next = "FETCH"
                with m.Elif(verdict["short"]):
                    drop(EtherboneFault.LENGTH)
                with m.Elif(verdict["header"]):
                    drop(EtherboneFault.HEADER)
                with m.Elif(verdict["length"]):
                    drop(EtherboneFault.LENGTH)
                with m.Elif(verdict["partial"]):
                    drop(EtherboneFault.PARTIAL)
                with m.Elif(verdict["long"]):
                    drop(EtherboneFault.LENGTH)
                with m.Elif(reads != 0):
                    m.d.sync += [
                        at.eq(_HEADER_WORDS + Mux(writes != 0, writes + 1, 0)),
                        total.eq(reads + (_HEADER_WORDS + 1)),
                    ]
                    m.next = "TICKET"
                with m.Elif(writes != 0):
                    m.d.sync += at.eq(_HEADER_WORDS)
                    m.next = "BASE"
                with m.Else():
                    m.next = "RECEIVE"
            with m.State("TICKET"):
                m.next = "JUDGE"
            with m.State("JUDGE"):
                m.d.sync += [ticket.eq(word), half.eq(word == 0)]
                with m.If((word != 0) & (word == last_ticket)):
                    m.d.sync += total.eq(last_reads + (_HEADER_WORDS + 1))
                    m.next = "FETCH"
                with m.Elif((word != 0) & stale):
                    drop(EtherboneFault.STALE)
                with m.Elif(writes != 0):
                    m.d.sync += at.eq(_HEADER_WORDS)
                    m.next = "BASE"
                with m.Else():
                    m.d.sync += at.eq(at + 1)
                    m.next = "PLACE"
            with m.State("BASE"):
                m.d.sync += at.eq(at + 1)
                m.next = "BASED"
            with m.State("BASED"):
                m.d.sync += address.eq(word)
                m.next = "VALUE"
            with m.State("VALUE"):
                m.d.sync += value.eq(word)
                m.next = "WRITE"
            with m.State("WRITE"):
                m.d.comb += [access.stb.eq(1), access.write.eq(1)]
                m.d.sync += at.eq(at + 1)
                m.next = "WRITTEN"
            with m.State("WRITTEN"):
                m.d.comb += access.write.eq(1)
                with m.If(access.ack):
                    m.d.sync += [address.eq(address + 4), n.eq(n + 1)]
                    m.next = "VALUE"
                    with m.If(n == writes - 1):
                        m.d.sync += [n.eq(0), at.eq(at + 1)]  # past the ticket
                        m.next = "PLACE"
                        with m.If(reads == 0):
                            m.next = "RECEIVE"
            with m.State("PLACE"):
                m.next = "PLACED"
            with m.State("PLACED"):
                m.d.sync += [address.eq(word), at.eq(at + 1)]
                m.next = "READ"
            with m.State("READ"):
                m.d.comb += access.stb.eq(1)
                m.next = "TAKEN"
            with m.State("TAKEN"), m.If(access.ack):
                m.d.comb += keep.en.eq(1)
                m.d.sync += n.eq(n + 1)
                m.next = "PLACED"
                with m.If(n == reads - 1):
                    m.next = "FETCH"
                    with m.If(ticket != 0):
                        m.d.sync += [last_ticket.eq(ticket), last_reads.eq(reads)]
            with m.State("FETCH"):
                m.next = "LOAD"
            with m.State("LOAD"):
                m.d.sync += out.eq(again.data)
                with m.Switch(index):
                    for place, head in enumerate(
                        (
                            Mux(probe, Const(_PROBE_HEAD, 32), Const(_HEAD, 32)),
                            Const(0, 32),
                            Cat(Const(0, 8), (total - (_HEADER_WORDS + 1))[:8], Const(0x000F, 16)),
                            ticket,
                        )
                    ):
                        with m.Case(place):
                            m.d.sync += out.eq(head)
                m.next = "SEND"
            with m.State("SEND"):
                m.d.comb += [
                    self.o.valid.eq(1),
                    self.o.payload.byte.eq(out[24:]),
                    self.o.payload.last.eq((index == total - 1) & lane.all()),
                ]
                with m.If(self.o.ready):
                    m.d.sync += [out.eq(out << 8), lane.eq(lane + 1)]
                    with m.If(lane.all()):
                        m.d.sync += index.eq(index + 1)
                        m.next = "FETCH"
                    with m.If(self.o.payload.last):
                        m.next = "RECEIVE"
        return m

    @staticmethod
    def _judge(
        m: Module, count: Signal, heads: list[Signal], writes: Signal, reads: Signal
    ) -> dict[str, Any]:
        """What is wrong with a request, in the order in which it is asked."""
        magic = heads[0][16:] == ETHERBONE_MAGIC
        flags, sizes = heads[0][8:16], heads[0][:8]
        spaces, enables = heads[2][24:], heads[2][16:24]
        words = Mux(writes != 0, writes + 1, 0) + Mux(reads != 0, reads + 1, 0)
        header = PACKET_HEADER + RECORD_HEADER
        verdict = {
            "probe": (count >= PACKET_HEADER) & magic & flags[_PROBE],
            "short": count < header,
            "header": ~magic | (flags[4:] != ETHERBONE_VERSION) | (sizes != ETHERBONE_SIZES),
            "length": count != (words << 2) + header,
            "partial": (spaces & _SPACES).any() | (enables != 0xF),
            "long": (writes > MOST_WORDS) | (reads > MOST_WORDS),
        }
        named = {name: Signal(name=f"is_{name}") for name in verdict}
        m.d.comb += [named[name].eq(value) for name, value in verdict.items()]
        return named
