"""The frame harness itself: a register slice passes, what breaks the stream's rules does not."""

import random

import pytest
from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from precog_hw.stream.packet import beat_layout, packet_signature
from precog_hw.stream.skid import SkidBuffer
from precog_sim.rtl.library import RtlError
from precog_sim.rtl.packet_block import PacketBlock, Wire, packet_library

_SOURCE, _SINK = "s_axis", "m_axis"


class _Bad(wiring.Component):
    """Passes beats, but takes back what it offered (`hang` False), or never offers anything."""

    def __init__(self, *, hang: bool) -> None:
        self._hang = hang
        super().__init__({"i": In(packet_signature(64)), "o": Out(packet_signature(64))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        stalled = Signal()
        m.d.sync += stalled.eq(self.o.valid & ~self.o.ready)
        if self._hang:
            m.d.comb += self.o.payload.last.eq(stalled)
            return m
        wiring.connect(m, wiring.flipped(self.i), wiring.flipped(self.o))
        with m.If(stalled):
            m.d.comb += self.o.payload.data.eq(~self.i.payload.data)
        return m


def _wires(rng: random.Random, count: int) -> list[Wire]:
    return [
        Wire(rng.randbytes(rng.randrange(1, 200)), rng.random() < 0.2, n, n & 0xFF)
        for n in range(count)
    ]


@pytest.mark.parametrize("width", [8, 64, 512])
def test_a_slice_passes_every_frame(width: int, seed: int) -> None:
    path = packet_library(SkidBuffer(beat_layout(width)), label=f"register slice, {width} bits")
    block, wires = PacketBlock(path), _wires(random.Random(seed), 500)
    run = block.run({_SOURCE: wires}, [_SINK], idle=0.3, stall=0.3, seed=seed)
    assert run.sinks[_SINK].frames == wires
    full = block.run({_SOURCE: wires}, [_SINK])
    beats = sum(-(-len(wire.data) * 8 // width) for wire in wires)
    assert full.sinks[_SINK].last[-1] - full.sources[_SOURCE].first[0] == beats  # a beat a cycle
    block.close()


def test_monitors_and_ports() -> None:
    block = PacketBlock(
        packet_library(SkidBuffer(beat_layout(64)), label="register slice, 64 bits")
    )
    wires = [Wire(bytes(8 * n)) for n in (1, 2, 3)]
    run = block.run({_SOURCE: wires}, [_SINK], monitors={"m_axis_tvalid": ["m_axis_tlast"]})
    assert [values for _, values in run.events["m_axis_tvalid"]] == [
        (1,),
        (0,),
        (1,),
        (0,),
        (0,),
        (1,),
    ]
    with pytest.raises(KeyError, match="not 'moon'"):
        block.poke(moon=1)
    block.close()


@pytest.mark.parametrize(
    ("hang", "message"), [(True, "nothing moved for 300 cycles"), (False, "an offer must stay")]
)
def test_a_broken_block_is_refused(hang: bool, message: str) -> None:
    block = PacketBlock(packet_library(_Bad(hang=hang), label="a broken block"))
    wires = _wires(random.Random(1), 20)
    with pytest.raises(RtlError, match=message):
        block.run({_SOURCE: wires}, [_SINK], stall=0.5, watchdog=300)
    block.close()


def test_a_run_ends_with_what_is_wanted() -> None:
    path = packet_library(SkidBuffer(beat_layout(64)), label="register slice, 64 bits")
    block, wires = PacketBlock(path), _wires(random.Random(3), 3)
    patient = block.run({_SOURCE: wires}, [_SINK], settle=50)
    assert patient.cycles == patient.sinks[_SINK].last[-1] + 51
    began = block.cycles
    run = block.run({_SOURCE: wires}, [_SINK], settle=50, wanted={_SINK: 3})
    assert run.sinks[_SINK].frames == wires
    assert run.cycles == run.sinks[_SINK].last[-1] + 1 - began
    # Frames that come no more are waited for as without a wish.
    assert block.run({}, [_SINK], settle=50, wanted={_SINK: 1}).cycles == 50
    block.close()
