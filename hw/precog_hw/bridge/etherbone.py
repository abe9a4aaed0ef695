"""Etherbone bridge: datagrams of LiteX's Etherbone, AXI4-Lite master behind them.

`precog_models.bridge.etherbone` is the golden model; `precog_spec.frames.bridge` says what stands
in a datagram, what a ticket is, and what the window at the end of the address space tells.

Around it stands a UDP core: it hands over the payload of each datagram for the bridge's port (1234)
whose checksum is right, keeps the sender's address and port until the answer has left, and sends
the answer there. While a request is executed the next one waits.
"""

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
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
from .etherbone_registers import COUNT_BITS, HEADER_WORDS, ROWS, Registers

__all__ = ["ANSWER_BYTE", "REQUEST_BYTE", "EtherboneBridge"]

REQUEST_BYTE = data.StructLayout({"byte": 8, "last": 1, "error": 1})  # error counts with last
ANSWER_BYTE = data.StructLayout({"byte": 8, "last": 1})

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
                "length": Out(COUNT_BITS),
                "axil": Out(AxiLite(address_bits)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.access = access = self._access
        m.submodules.request = request = Memory(shape=32, depth=ROWS, init=[])
        m.submodules.answer = answer = Memory(shape=32, depth=2 * MOST_WORDS, init=[])
        wiring.connect(m, access.axil, wiring.flipped(self.axil))
        r = Registers(access, request, answer)
        came = Cat(self.i.payload.byte, r.partial)
        m.d.comb += [
            r.store.addr.eq(r.count[2:]),
            r.store.data.eq(came),
            r.writes.eq(r.heads[2][8:16]),
            r.reads.eq(r.heads[2][:8]),
        ]
        verdict = self._judge(m, r.count, r.heads, r.writes, r.reads)
        behind = Signal(16)
        m.d.comb += [
            r.fetch.addr.eq(r.at),
            behind.eq(r.last_ticket[:16] - r.word[:16]),
            r.stale.eq((r.last_ticket[16:] == r.word[16:]) & (behind != 0) & ~behind[15]),
            access.address.eq(r.address),
            access.data.eq(r.value),
            r.keep.addr.eq(Cat(r.n[:6], r.half)),
            r.keep.data.eq(access.result),
            r.again.addr.eq(Cat((r.index - (HEADER_WORDS + 1))[:6], r.half)),
            self.length.eq(r.total << 2),
        ]
        with m.FSM(name="etherbone"):
            self._receive(m, r, came)
            self._check(m, r, verdict)
            self._compare_tickets(m, r)
            self._write(m, r)
            self._read(m, r)
            self._send(m, r)
        return m

    @staticmethod
    def _drop(m: Module, r: Registers, kind: EtherboneFault) -> None:
        m.d.comb += r.access.faults[kind].eq(1)
        m.next = "RECEIVE"

    def _receive(self, m: Module, r: Registers, came: Value) -> None:
        """Bytes of a request go to its RAM, and the words of both headers to registers."""
        with m.State("RECEIVE"):
            m.d.comb += self.i.ready.eq(1)
            m.d.sync += [r.index.eq(0), r.lane.eq(0), r.n.eq(0), r.probe.eq(0)]
            with m.If(self.i.valid):
                m.d.comb += r.store.en.eq((r.count[:2] == 3) & (r.count < 4 * ROWS))
                m.d.sync += r.partial.eq(came)
                with m.If(~r.count.all()):
                    m.d.sync += r.count.eq(r.count + 1)
                for place, head in enumerate(r.heads):
                    with m.If(r.count == 4 * place + 3):
                        m.d.sync += head.eq(came)
                with m.If(self.i.payload.last):
                    m.next = "CHECK"
                    with m.If(self.i.payload.error):
                        m.d.sync += r.count.eq(0)
                        self._drop(m, r, EtherboneFault.LENGTH)

    def _check(self, m: Module, r: Registers, verdict: dict[str, Any]) -> None:
        """A request is executed whole or not at all."""
        with m.State("CHECK"):
            m.d.sync += [r.count.eq(0), r.ticket.eq(0), r.half.eq(1)]
            with m.If(verdict["probe"]):
                m.d.sync += [r.probe.eq(1), r.total.eq(PACKET_HEADER // 4)]
                m.next = "FETCH"
            with m.Elif(verdict["short"]):
                self._drop(m, r, EtherboneFault.LENGTH)
            with m.Elif(verdict["header"]):
                self._drop(m, r, EtherboneFault.HEADER)
            with m.Elif(verdict["length"]):
                self._drop(m, r, EtherboneFault.LENGTH)
            with m.Elif(verdict["partial"]):
                self._drop(m, r, EtherboneFault.PARTIAL)
            with m.Elif(verdict["long"]):
                self._drop(m, r, EtherboneFault.LENGTH)
            with m.Elif(r.reads != 0):
                m.d.sync += [
                    r.at.eq(HEADER_WORDS + Mux(r.writes != 0, r.writes + 1, 0)),
                    r.total.eq(r.reads + (HEADER_WORDS + 1)),
                ]
                m.next = "TICKET"
            with m.Elif(r.writes != 0):
                m.d.sync += r.at.eq(HEADER_WORDS)
                m.next = "BASE"
            with m.Else():
                m.next = "RECEIVE"

    def _compare_tickets(self, m: Module, r: Registers) -> None:
        """The last ticket gets its answer again; an older one gets none."""
        with m.State("TICKET"):
            m.next = "JUDGE"
        with m.State("JUDGE"):
            m.d.sync += [r.ticket.eq(r.word), r.half.eq(r.word == 0)]
            with m.If((r.word != 0) & (r.word == r.last_ticket)):
                m.d.sync += r.total.eq(r.last_reads + (HEADER_WORDS + 1))
                m.next = "FETCH"
            with m.Elif((r.word != 0) & r.stale):
                self._drop(m, r, EtherboneFault.STALE)
            with m.Elif(r.writes != 0):
                m.d.sync += r.at.eq(HEADER_WORDS)
                m.next = "BASE"
            with m.Else():
                m.d.sync += r.at.eq(r.at + 1)
                m.next = "PLACE"

    def _write(self, m: Module, r: Registers) -> None:
        """Words go to the bus, from the base address on."""
        with m.State("BASE"):
            m.d.sync += r.at.eq(r.at + 1)
            m.next = "BASED"
        with m.State("BASED"):
            m.d.sync += r.address.eq(r.word)
            m.next = "VALUE"
        with m.State("VALUE"):
            m.d.sync += r.value.eq(r.word)
            m.next = "WRITE"
        with m.State("WRITE"):
            m.d.comb += [r.access.stb.eq(1), r.access.write.eq(1)]
            m.d.sync += r.at.eq(r.at + 1)
            m.next = "WRITTEN"
        with m.State("WRITTEN"):
            m.d.comb += r.access.write.eq(1)
            with m.If(r.access.ack):
                m.d.sync += [r.address.eq(r.address + 4), r.n.eq(r.n + 1)]
                m.next = "VALUE"
                with m.If(r.n == r.writes - 1):
                    m.d.sync += [r.n.eq(0), r.at.eq(r.at + 1)]  # past the ticket
                    m.next = "PLACE"
                    with m.If(r.reads == 0):
                        m.next = "RECEIVE"

    def _read(self, m: Module, r: Registers) -> None:
        """Each address is read, and its word kept for the answer."""
        with m.State("PLACE"):
            m.next = "PLACED"
        with m.State("PLACED"):
            m.d.sync += [r.address.eq(r.word), r.at.eq(r.at + 1)]
            m.next = "READ"
        with m.State("READ"):
            m.d.comb += r.access.stb.eq(1)
            m.next = "TAKEN"
        with m.State("TAKEN"), m.If(r.access.ack):
            m.d.comb += r.keep.en.eq(1)
            m.d.sync += r.n.eq(r.n + 1)
            m.next = "PLACED"
            with m.If(r.n == r.reads - 1):
                m.next = "FETCH"
                with m.If(r.ticket != 0):
                    m.d.sync += [r.last_ticket.eq(r.ticket), r.last_reads.eq(r.reads)]

    def _send(self, m: Module, r: Registers) -> None:
        """Headers, the ticket and the words kept leave, the first byte highest."""
        with m.State("FETCH"):
            m.next = "LOAD"
        with m.State("LOAD"):
            m.d.sync += r.out.eq(r.again.data)
            with m.Switch(r.index):
                for place, head in enumerate(
                    (
                        Mux(r.probe, Const(_PROBE_HEAD, 32), Const(_HEAD, 32)),
                        Const(0, 32),
                        Cat(Const(0, 8), (r.total - (HEADER_WORDS + 1))[:8], Const(0x000F, 16)),
                        r.ticket,
                    )
                ):
                    with m.Case(place):
                        m.d.sync += r.out.eq(head)
            m.next = "SEND"
        with m.State("SEND"):
            m.d.comb += [
                self.o.valid.eq(1),
                self.o.payload.byte.eq(r.out[24:]),
                self.o.payload.last.eq((r.index == r.total - 1) & r.lane.all()),
            ]
            with m.If(self.o.ready):
                m.d.sync += [r.out.eq(r.out << 8), r.lane.eq(r.lane + 1)]
                with m.If(r.lane.all()):
                    m.d.sync += r.index.eq(r.index + 1)
                    m.next = "FETCH"
                with m.If(self.o.payload.last):
                    m.next = "RECEIVE"

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
