"""The bridges, Verilated, a UART with a host's end of the line; their bus is served by Python."""

import random
from functools import cache
from pathlib import Path

from amaranth.hdl import Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from precog_hw.bridge.etherbone import EtherboneBridge
from precog_hw.bridge.serial import DIVISOR_BITS, SerialReceiver, SerialTransmitter
from precog_hw.bridge.uartbone import UartBridge
from precog_hw.csr.axil import AxiLite
from precog_hw.stream.queue import Queue
from precog_models.bridge.window import Bus
from precog_sim.rtl.block import RtlBlock
from precog_sim.rtl.stream_block import stream_library

DIVISOR = 5
SILENCE_CYCLES = 400  # a byte takes 50
BUS_TIMEOUT_CYCLES = 300
ADDRESS_BITS = 16
_STEP = 8  # cycles between two looks at the ports
_PATIENCE = 4_000  # looks without anything new


class UartBench(wiring.Component):
    """The bridge and, at the other end of its line, a transmitter and a receiver.

    A word to be sent is a byte and whether its stop bit shall be missing.
    """

    def __init__(self) -> None:
        self._bridge = UartBridge(
            ADDRESS_BITS, timeout_cycles=SILENCE_CYCLES, bus_timeout_cycles=BUS_TIMEOUT_CYCLES
        )
        word = data.StructLayout({"byte": 8, "bad": 1})
        super().__init__(
            {
                "i": In(stream.Signature(word)),
                "o": Out(stream.Signature(8)),
                "divisor": In(DIVISOR_BITS, init=DIVISOR),
                "axil": Out(AxiLite(ADDRESS_BITS)),
                "damaged": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.bridge = bridge = self._bridge
        m.submodules.send = send = SerialTransmitter()
        m.submodules.receive = receive = SerialReceiver()
        m.submodules.answers = answers = Queue(8, 256)
        wiring.connect(m, bridge.axil, wiring.flipped(self.axil))
        wiring.connect(m, answers.o, wiring.flipped(self.o))
        bad = Signal()
        left = Signal(range(1 << DIVISOR_BITS + 1))  # of ten and a half bits, while `bad`
        broken = bad & (left < self.divisor + (self.divisor >> 1))
        with m.If(send.i.valid & send.i.ready):
            m.d.sync += [bad.eq(self.i.payload.bad), left.eq(10 * self.divisor)]
        with m.Elif(left != 0):
            m.d.sync += left.eq(left - 1)
        m.d.comb += [
            send.i.valid.eq(self.i.valid & ~(bad & (left != 0))),
            self.i.ready.eq(send.i.ready & ~(bad & (left != 0))),
            send.i.payload.eq(self.i.payload.byte),
            bridge.rx.eq(send.tx & ~(broken & (left != 0))),
            receive.rx.eq(bridge.tx),
            answers.i.valid.eq(receive.stb),
            answers.i.payload.eq(receive.data),
            self.damaged.eq(receive.framing_error),
        ]
        for part in (bridge, send, receive):
            m.d.comb += part.divisor.eq(self.divisor)
        return m


@cache
def _library() -> Path:
    return stream_library(UartBench(), label="uart bridge")


@cache
def _etherbone_library() -> Path:
    block = EtherboneBridge(ADDRESS_BITS, bus_timeout_cycles=BUS_TIMEOUT_CYCLES)
    return stream_library(block, label="etherbone bridge")


class BridgeRtl:
    """A Verilated bench; AXI4-Lite accesses are answered out of a bus, after random delays.

    Parameters
    ----------
    library : Path
    bus : Bus
    seed : int
        Of the delays.
    """

    def __init__(self, library: Path, bus: Bus, seed: int) -> None:
        self._bus, self._rng = bus, random.Random(seed)
        self._block = RtlBlock(library)
        self._answer: tuple[int, dict[str, int]] | None = None
        #: The bus takes no request, or takes them and does not answer.
        self.deaf = self.mute = False

    def close(self) -> None:
        self._block.close()

    def _serve(self) -> None:
        block = self._block
        if self._answer is not None:
            wait, pins = self._answer
            if self.mute or wait > 0:
                self._answer = wait - 1, pins
                return
            strobe = "axil_rvalid" if "axil_rdata" in pins else "axil_bvalid"
            block.pulse(strobe, **pins)
            self._answer = None
        elif self.deaf:
            return
        elif block.peek("axil_arvalid"):
            address = block.peek("axil_araddr")
            block.pulse("axil_arready")
            response, word = self._bus.read(address)
            self._answer = self._rng.randrange(4), {"axil_rresp": response, "axil_rdata": word}
        elif block.peek("axil_awvalid"):
            address, word = block.peek("axil_awaddr"), block.peek("axil_wdata")
            assert block.peek("axil_wvalid")
            assert block.peek("axil_wstrb") == 0xF
            for ready in self._rng.sample(("axil_awready", "axil_wready"), 2):
                block.pulse(ready)
            response = self._bus.write(address, word)
            self._answer = self._rng.randrange(4), {"axil_bresp": response}


class UartRtl(BridgeRtl):
    """The UART bridge's bench: bytes on the line, bytes from it."""

    def __init__(self, bus: Bus, seed: int = 1) -> None:
        super().__init__(_library(), bus, seed)
        self._block.poke(divisor=DIVISOR)
        self.answered = bytearray()

    def send(self, byte: int, *, bad: bool = False) -> None:
        """Put a byte on the line, once there is room."""
        for _ in range(_PATIENCE):
            if self._block.peek("i_ready"):
                break
            self.step()
        else:
            raise TimeoutError("line is stuck")
        self._block.pulse("i_valid", i_payload=byte | bad << 8)

    def step(self, cycles: int = _STEP) -> None:
        """Let time pass."""
        self._block.tick(cycles)
        self._serve()
        while self._block.peek("o_valid"):
            self.answered.append(self._block.peek("o_payload"))
            self._block.pulse("o_ready")

    def pause(self, cycles: int) -> None:
        """Nothing on the line."""
        for _ in range(0, cycles, _STEP):
            self.step()

    def settle(self) -> None:
        """Until the line is idle, what was sent has been handled and answered."""
        self.pause(24 * DIVISOR)
        seen = -1
        while seen != len(self.answered):
            seen = len(self.answered)
            self.pause(24 * DIVISOR)

    def take(self) -> bytes:
        """What came back since the last time."""
        said = bytes(self.answered)
        self.answered.clear()
        return said


class EtherboneRtl(BridgeRtl):
    """The Etherbone bridge: payloads in, payloads out; both sides pause at random."""

    def __init__(self, bus: Bus, seed: int = 1) -> None:
        super().__init__(_etherbone_library(), bus, seed)

    def receive(self, payload: bytes, *, error: bool = False) -> bytes:
        """Hand over a payload, of a byte or more; the one that comes back, or none."""
        block = self._block
        for n, byte in enumerate(payload):
            last = n == len(payload) - 1
            assert block.peek("i_ready"), "a bridge that does nothing must take a request"
            if self._rng.random() < 0.05:
                block.tick(self._rng.randrange(3))
            block.pulse("i_valid", i_payload=byte | last << 8 | (last and error) << 9)
        answer = bytearray()
        for _ in range(_PATIENCE):
            if block.peek("o_valid"):
                if not answer:
                    length = block.peek("length")
                assert block.peek("length") == length
                byte = block.peek("o_payload")
                if self._rng.random() < 0.1:
                    block.tick(self._rng.randrange(4))
                    assert block.peek("o_payload") == byte
                answer.append(byte & 0xFF)
                block.pulse("o_ready")
                assert byte >> 8 == (len(answer) == length)
                continue
            if block.peek("i_ready"):
                return bytes(answer)
            block.tick()
            self._serve()
        raise TimeoutError("bridge is stuck")


def bits_of(data_: bytes) -> list[int]:
    """A line's bits: start, eight, stop."""
    return [bit for byte in data_ for bit in (0, *((byte >> n) & 1 for n in range(8)), 1)]
