"""UART bridge: LiteX's UARTBone on a serial line, AXI4-Lite master behind it.

`precog_models.bridge.uartbone` is the golden model; `precog_spec.frames.bridge` says what stands on
the line, and what the window at the end of the address space tells about it.
"""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.crc import Processor
from amaranth.lib.crc.catalog import CRC32_ETHERNET
from amaranth.lib.wiring import In, Out

from precog_hw.csr.axil import AxiLite
from precog_hw.stream.queue import Queue
from precog_spec.frames.bridge import Command, UartFault

from .access import BUS_TIMEOUT_CYCLES, BridgeAccess
from .serial import DIVISOR_BITS, SerialReceiver, SerialTransmitter

__all__ = ["UartBridge"]

_ROWS = 32  # bytes that may come while an answer leaves: a host sends its check at once
_WORD_BYTES = 4


class _Kind(enum.Enum, shape=2):  # type: ignore[call-arg]
    """What came over the line."""

    BYTE = 0
    FRAMING = 1
    OVERFLOW = 2


_SYMBOL = data.StructLayout({"byte": 8, "kind": _Kind})


class _Command:
    """The command at work, and what its states have of the line."""

    def __init__(self, symbols: stream.Interface, crc: Processor) -> None:
        self.symbols = symbols
        self.crc = crc
        self.command = Signal(range(max(Command) + 1))
        self.words = Signal(8)  # that are left
        self.address = Signal(32)  # in words
        self.word = Signal(32)
        self.count = Signal(range(_WORD_BYTES))
        self.writes = (self.command == Command.WRITE) | (self.command == Command.WRITE_FIXED)
        self.fixed = (self.command == Command.WRITE_FIXED) | (self.command == Command.READ_FIXED)
        self.waits = Signal()  # for the line
        self.silence = Signal()  # has lasted for the time-out
        self.byte = Signal()  # a good one is taken
        self.damaged = Signal()


class UartBridge(wiring.Component):
    """Commands from a serial line, answers to it.

    ::

        rx ─► receiver ─► queue ─► command ─► access ─► axil
        tx ◄─ transmitter ◄────────┘    ▲ CRC-32 of all that is handled

    After a damaged byte, one for which there was no room and one that is no command, nothing is
    executed until the line has been silent for `timeout_cycles`; a command that stops in its middle
    is forgotten after the same silence. Nothing that comes over the line holds the bridge.

    Latency: an answer's first byte begins 5 cycles and the bus's after its command has ended.
    Throughput: the line's. Cost: about 550 flip-flops, 32 rows of LUT RAM.

    Parameters
    ----------
    address_bits : int
        Of the bus.
    timeout_cycles : int
        `TIMEOUT_MS` in cycles; more than a byte on the line.
    bus_timeout_cycles : int
        As `BridgeAccess`.

    Members
    -------
    rx : In(1)
        The line, of any clock.
    tx : Out(1)
    divisor : In(16)
        Clock cycles of a bit, 4 or more; a new one acts with the next byte.
    axil : Out(AxiLite(address_bits))

    Raises
    ------
    ValueError
        As `BridgeAccess`, or `timeout_cycles` is too small.
    """

    def __init__(
        self,
        address_bits: int = 16,
        *,
        timeout_cycles: int,
        bus_timeout_cycles: int = BUS_TIMEOUT_CYCLES,
    ) -> None:
        if timeout_cycles < 2:
            raise ValueError(f"timeout_cycles must be 2 or more, not {timeout_cycles!r}")
        self._timeout = timeout_cycles
        self._access = BridgeAccess(address_bits, bus_timeout_cycles=bus_timeout_cycles)
        super().__init__(
            {
                "rx": In(1, init=1),
                "tx": Out(1, init=1),
                "divisor": In(DIVISOR_BITS),
                "axil": Out(AxiLite(address_bits)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.receiver = receiver = SerialReceiver()
        m.submodules.transmitter = transmitter = SerialTransmitter()
        m.submodules.queue = queue = Queue(_SYMBOL, _ROWS)
        m.submodules.access = access = self._access
        m.submodules.crc = crc = CRC32_ETHERNET(data_width=8).create()
        wiring.connect(m, access.axil, wiring.flipped(self.axil))
        m.d.comb += [
            receiver.rx.eq(self.rx),
            receiver.divisor.eq(self.divisor),
            transmitter.divisor.eq(self.divisor),
            self.tx.eq(transmitter.tx),
            access.crc.eq(crc.crc),
        ]
        self._receive(m, receiver, queue)
        at = _Command(queue.o, crc)
        m.d.comb += [
            access.write.eq(at.writes),
            access.address.eq(Cat(Const(0, 2), at.address)),
            access.data.eq(at.word),
        ]

        self._count_silence(m, at, receiver.idle)
        with m.FSM(name="command"):
            self._parse(m, at)
            self._write(m, at)
            self._read(m, at, transmitter.i)
            self._ignore(m, at)
        return m

    def _count_silence(self, m: Module, at: _Command, idle: Signal) -> None:
        """Count how long nothing is on the line, nothing waits and nothing is being answered."""
        silent = Signal(range(self._timeout))
        m.d.comb += at.silence.eq(silent == self._timeout - 1)
        with m.If(~idle | at.symbols.valid | ~at.waits | at.silence):
            m.d.sync += silent.eq(0)
        with m.Else():
            m.d.sync += silent.eq(silent + 1)

    def _take(self, m: Module, at: _Command) -> None:
        """The next symbol is taken; damage ends the command."""
        symbol, faults = at.symbols.payload, self._access.faults
        m.d.comb += [
            at.waits.eq(1),
            at.symbols.ready.eq(1),
            at.byte.eq(at.symbols.valid & (symbol.kind == _Kind.BYTE)),
            at.damaged.eq(at.symbols.valid & (symbol.kind != _Kind.BYTE)),
            faults[UartFault.FRAMING].eq(at.damaged & (symbol.kind == _Kind.FRAMING)),
            faults[UartFault.OVERFLOW].eq(at.damaged & (symbol.kind == _Kind.OVERFLOW)),
            at.crc.valid.eq(at.byte),
            at.crc.data.eq(symbol.byte),
        ]
        with m.If(at.damaged):
            m.next = "DEAF"

    def _forget(self, m: Module, at: _Command) -> None:
        """A command that stops is forgotten."""
        with m.If(at.silence):
            m.d.comb += [self._access.faults[UartFault.TIMEOUT].eq(1), at.crc.start.eq(1)]
            m.next = "COMMAND"

    @staticmethod
    def _end_word(m: Module, at: _Command) -> None:
        """Go on to the next word, at the next address unless the command says a fixed one."""
        m.d.sync += [at.words.eq(at.words - 1), at.address.eq(at.address + ~at.fixed)]

    def _parse(self, m: Module, at: _Command) -> None:
        """COMMAND, LENGTH and ADDRESS: what is to be done, to how many words, and where."""
        symbol, faults = at.symbols.payload, self._access.faults
        with m.State("COMMAND"):
            self._take(m, at)
            with m.If(at.byte):
                m.d.sync += at.command.eq(symbol.byte)
                m.next = "LENGTH"
                with m.If((symbol.byte < min(Command)) | (symbol.byte > max(Command))):
                    m.d.comb += faults[UartFault.COMMAND].eq(1)
                    m.next = "DEAF"
        with m.State("LENGTH"):
            self._forget(m, at)
            self._take(m, at)
            with m.If(at.byte):
                m.d.sync += [at.words.eq(symbol.byte), at.count.eq(0)]
                m.next = "ADDRESS"
                with m.If(symbol.byte == 0):
                    m.d.comb += faults[UartFault.COMMAND].eq(1)
                    m.next = "DEAF"
        with m.State("ADDRESS"):
            self._forget(m, at)
            self._take(m, at)
            with m.If(at.byte):
                m.d.sync += [at.address.eq(Cat(symbol.byte, at.address)), at.count.eq(at.count + 1)]
                with m.If(at.count == _WORD_BYTES - 1):
                    m.next = "READ"
                    with m.If(at.writes):
                        m.next = "DATA"

    def _write(self, m: Module, at: _Command) -> None:
        """DATA to WRITTEN: each word as soon as its four bytes have come."""
        symbol = at.symbols.payload
        with m.State("DATA"):
            self._forget(m, at)
            self._take(m, at)
            with m.If(at.byte):
                m.d.sync += [at.word.eq(Cat(symbol.byte, at.word)), at.count.eq(at.count + 1)]
                with m.If(at.count == _WORD_BYTES - 1):
                    m.next = "WRITE"
        with m.State("WRITE"):
            m.d.comb += self._access.stb.eq(1)
            m.next = "WRITTEN"
        with m.State("WRITTEN"), m.If(self._access.ack):
            self._end_word(m, at)
            m.next = "DATA"
            with m.If(at.words == 1):
                m.next = "COMMAND"

    def _read(self, m: Module, at: _Command, sends: stream.Interface) -> None:
        """READ to SEND: each word is read when the one before it has been sent."""
        with m.State("READ"):
            m.d.comb += self._access.stb.eq(1)
            m.next = "TAKEN"
        with m.State("TAKEN"), m.If(self._access.ack):
            m.d.sync += at.word.eq(self._access.result)
            m.d.comb += at.crc.start.eq(self._access.is_crc)
            m.next = "SEND"
        with m.State("SEND"):
            m.d.comb += [
                sends.valid.eq(1),
                sends.payload.eq(at.word[-8:]),
                at.crc.valid.eq(sends.ready & ~self._access.is_crc),
                at.crc.data.eq(at.word[-8:]),
            ]
            with m.If(sends.ready):
                m.d.sync += [at.word.eq(at.word << 8), at.count.eq(at.count + 1)]
                with m.If(at.count == _WORD_BYTES - 1):
                    self._end_word(m, at)
                    m.next = "READ"
                    with m.If(at.words == 1):
                        m.next = "COMMAND"

    def _ignore(self, m: Module, at: _Command) -> None:
        """DEAF: nothing is executed until the line has been silent."""
        symbol, faults = at.symbols.payload, self._access.faults
        with m.State("DEAF"):
            m.d.comb += [at.waits.eq(1), at.symbols.ready.eq(1)]
            with m.If(at.symbols.valid & (symbol.kind == _Kind.FRAMING)):
                m.d.comb += faults[UartFault.FRAMING].eq(1)
            with m.If(at.symbols.valid & (symbol.kind == _Kind.OVERFLOW)):
                m.d.comb += faults[UartFault.OVERFLOW].eq(1)
            with m.If(at.silence):
                m.d.comb += at.crc.start.eq(1)
                m.next = "COMMAND"

    @staticmethod
    def _receive(m: Module, receiver: SerialReceiver, queue: Queue) -> None:
        """Bytes and damages, in their order, into the queue; what finds no room is one damage."""
        lost = Signal()
        comes = receiver.stb | receiver.framing_error
        kind = Mux(receiver.framing_error, _Kind.FRAMING, _Kind.BYTE)
        m.d.comb += [
            queue.i.valid.eq(comes | lost),
            queue.i.payload.byte.eq(receiver.data),
            queue.i.payload.kind.eq(Mux(lost, _Kind.OVERFLOW, kind)),
        ]
        with m.If(comes & (lost | ~queue.i.ready)):
            m.d.sync += lost.eq(1)
        with m.Elif(queue.i.ready):
            m.d.sync += lost.eq(0)
