"""`PacketNic`: the whole NIC with packets, Verilated; registers over AXI4-Lite, frames at speed."""

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from amaranth.lib import data

from precog_hw.config import NicConfig
from precog_hw.csr.layouts import DECISION, SAMPLE
from precog_hw.nic import PrecogNic, nic_map
from precog_hw.rate.law_layouts import LAW_EVENT

from .axil import AxilTransport
from .library import RtlError
from .packet_block import PacketBlock, Run, Wire, packet_library

__all__ = ["PacketNic"]

_AXIL_CYCLES = 100  # that an access may take
_MONITORS = {
    "sample_stb": ["sample"],
    "law_event_stb": ["law_event"],
    "m_decision_tvalid": ["m_decision_tdata"],
}
_SETTLE = 400  # cycles from a packet's end to its decision, with room


@cache
def _library(config: NicConfig, tick_ps: int) -> Path:
    """Elaborating takes seconds, so a process does it once."""
    nic = PrecogNic(config, tick_ps=tick_ps)
    return packet_library(nic, label=f"NIC with packets, {config.width} bits, {config.qps} QPs")


class PacketNic(AxilTransport):
    """A transport whose device also takes frames.

    Parameters
    ----------
    config : NicConfig
        With a `width`.
    tick_ps : int
        Length of a cycle, picoseconds.
    """

    def __init__(self, config: NicConfig, *, tick_ps: int = 1000) -> None:
        super().__init__(nic_map(config, tick_ps=tick_ps).address_bits)
        self.block = PacketBlock(_library(config, tick_ps))
        self.block.poke(m_decision_tready=1, s_axil_bready=1, s_axil_rready=1)

    def axil_read(self, address: int) -> tuple[int, int]:
        """One transaction: the word and RRESP."""
        self.block.poke(s_axil_araddr=address, s_axil_arvalid=1)
        self._until("s_axil_arready")
        self.block.poke(s_axil_arvalid=0)
        value, response = self._until("s_axil_rvalid", also=("s_axil_rdata", "s_axil_rresp"))
        return value, response

    def axil_write(self, address: int, value: int) -> int:
        """One transaction: BRESP."""
        self.block.poke(s_axil_awaddr=address, s_axil_awvalid=1)
        self._until("s_axil_awready")
        self.block.poke(s_axil_awvalid=0, s_axil_wdata=value, s_axil_wstrb=0xF, s_axil_wvalid=1)
        self._until("s_axil_wready")
        self.block.poke(s_axil_wvalid=0)
        (response,) = self._until("s_axil_bvalid", also=("s_axil_bresp",))
        return response

    def run(
        self,
        tx: Sequence[Wire] = (),
        rx: Sequence[Wire] = (),
        *,
        seed: int = 1,
        idle: float = 0.0,
        stall: float = 0.0,
    ) -> Run:
        """Frames both ways; monitors are samples and decisions."""
        sources: Mapping[str, Sequence[Wire]] = {"s_axis_tx": tx, "s_axis_rx": rx}
        return self.block.run(
            {name: frames for name, frames in sources.items() if frames},
            ["m_axis_tx", "m_axis_rx"],
            monitors=_MONITORS,
            seed=seed,
            idle=idle,
            stall=stall,
            settle=_SETTLE,
        )

    def samples(self, run: Run) -> list[tuple[int, ...]]:
        """RTT samples as the core took them, in the contract's field order."""
        return _rows(SAMPLE, run, "sample_stb")

    def events(self, run: Run) -> list[tuple[int, ...]]:
        """Events as the laws took them, `law_fields.LAW_EVENT_FIELDS`."""
        return _rows(LAW_EVENT, run, "law_event_stb")

    def decisions(self, run: Run) -> list[tuple[int, ...]]:
        """Decisions, in the contract's field order."""
        return _rows(DECISION, run, "m_decision_tvalid")

    def close(self) -> None:
        """Free the RTL."""
        self.block.close()

    def _until(self, name: str, *, also: Sequence[str] = ()) -> tuple[int, ...]:
        """Clock until `name` is up, and through that cycle; what `also` said in it.

        Raises
        ------
        RtlError
            It stays down.
        """
        for _ in range(_AXIL_CYCLES):
            up = self.block.peek(name)
            seen = tuple(self.block.peek(other) for other in also)
            self.block.tick()
            if up:
                return seen
        raise RtlError(f"{name} must rise within {_AXIL_CYCLES} cycles")


def _rows(layout: data.StructLayout, run: Run, strobe: str) -> list[tuple[int, ...]]:
    return [
        tuple(bits >> field.offset & ((1 << field.width) - 1) for _, field in layout)
        for _, (bits,) in run.events[strobe]
    ]
