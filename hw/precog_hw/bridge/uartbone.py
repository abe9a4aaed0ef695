"""UART bridge: LiteX's UARTBone on a serial line, AXI4-Lite master behind it.

`precog_models.bridge.uartbone` is the golden model; `precog_spec.frames.bridge` says what stands on
the line, and what the window at the end of the address space tells about it.
"""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, enum, wiring
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

        symbol = queue.o.payload
        faults = {kind: access.faults[kind] for kind in UartFault}
        command, words = Signal(range(max(Command) + 1)), Signal(8)
        writes = (command == Command.WRITE) | (command == Command.WRITE_FIXED)
        fixed = (command == Command.WRITE_FIXED) | (command == Command.READ_FIXED)
        address = Signal(32)  # in words
        word = Signal(32)
        count = Signal(range(_WORD_BYTES))
        m.d.comb += [
            access.write.eq(writes),
            access.address.eq(Cat(Const(0, 2), address)),
            access.data.eq(word),
        ]

        # Silence counts while nothing is on the line, nothing waits and nothing is being answered.
        waits = Signal()
        silent = Signal(range(self._timeout))
        silence = Signal()
        m.d.comb += silence.eq(silent == self._timeout - 1)
        with m.If(~receiver.idle | queue.o.valid | ~waits | silence):
            m.d.sync += silent.eq(0)
        with m.Else():
            m.d.sync += silent.eq(silent + 1)

        byte = Signal()  # a good one is taken
        damaged = Signal()

        def take() -> None:
            """The next symbol is taken; damage ends the command."""
            m.d.comb += [
                waits.eq(1),
                queue.o.ready.eq(1),
                byte.eq(queue.o.valid & (symbol.kind == _Kind.BYTE)),
                damaged.eq(queue.o.valid & (symbol.kind != _Kind.BYTE)),
                faults[UartFault.FRAMING].eq(damaged & (symbol.kind == _Kind.FRAMING)),
                faults[UartFault.OVERFLOW].eq(damaged & (symbol.kind == _Kind.OVERFLOW)),
                crc.valid.eq(byte),
                crc.data.eq(symbol.byte),
            ]
            with m.If(damaged):
                m.next = "DEAF"

        def forget() -> None:
            """A command that stops is forgotten."""
            with m.If(silence):
                m.d.comb += [faults[UartFault.TIMEOUT].eq(1), crc.start.eq(1)]
                m.next = "COMMAND"

        def end_word() -> None:
            m.d.sync += [words.eq(words - 1), address.eq(address + ~fixed)]

        with m.FSM(name="command"):
            with m.State("COMMAND"):
                take()
                with m.If(byte):
                    m.d.sync += command.eq(symbol.byte)
                    m.next = "LENGTH"
                    with m.If((symbol.byte < min(Command)) | (symbol.byte > max(Command))):
                        m.d.comb += faults[UartFault.COMMAND].eq(1)
                        m.next = "DEAF"
            with m.State("LENGTH"):
                forget()
                take()
                with m.If(byte):
                    m.d.sync += [words.eq(symbol.byte), count.eq(0)]
                    m.next = "ADDRESS"
                    with m.If(symbol.byte == 0):
                        m.d.comb += faults[UartFault.COMMAND].eq(1)
                        m.next = "DEAF"
            with m.State("ADDRESS"):
                forget()
                take()
                with m.If(byte):
                    m.d.sync += [address.eq(Cat(symbol.byte, address)), count.eq(count + 1)]
                    with m.If(count == _WORD_BYTES - 1):
                        m.next = "READ"
                        with m.If(writes):
                            m.next = "DATA"
            with m.State("DATA"):
                forget()
                take()
                with m.If(byte):
                    m.d.sync += [word.eq(Cat(symbol.byte, word)), count.eq(count + 1)]
                    with m.If(count == _WORD_BYTES - 1):
                        m.next = "WRITE"
            with m.State("WRITE"):
                m.d.comb += access.stb.eq(1)
                m.next = "WRITTEN"
            with m.State("WRITTEN"), m.If(access.ack):
                end_word()
                m.next = "DATA"
                with m.If(words == 1):
                    m.next = "COMMAND"
            with m.State("READ"):
                m.d.comb += access.stb.eq(1)
                m.next = "TAKEN"
            with m.State("TAKEN"), m.If(access.ack):
                m.d.sync += word.eq(access.result)
                m.d.comb += crc.start.eq(access.is_crc)
                m.next = "SEND"
            with m.State("SEND"):
                m.d.comb += [
                    transmitter.i.valid.eq(1),
                    transmitter.i.payload.eq(word[-8:]),
                    crc.valid.eq(transmitter.i.ready & ~access.is_crc),
                    crc.data.eq(word[-8:]),
                ]
                with m.If(transmitter.i.ready):
                    m.d.sync += [word.eq(word << 8), count.eq(count + 1)]
                    with m.If(count == _WORD_BYTES - 1):
                        end_word()
                        m.next = "READ"
                        with m.If(words == 1):
                            m.next = "COMMAND"
            with m.State("DEAF"):
                m.d.comb += [waits.eq(1), queue.o.ready.eq(1)]
                with m.If(queue.o.valid & (symbol.kind == _Kind.FRAMING)):
                    m.d.comb += faults[UartFault.FRAMING].eq(1)
                with m.If(queue.o.valid & (symbol.kind == _Kind.OVERFLOW)):
                    m.d.comb += faults[UartFault.OVERFLOW].eq(1)
                with m.If(silence):
                    m.d.comb += crc.start.eq(1)
                    m.next = "COMMAND"
        return m

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
