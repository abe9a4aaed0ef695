"""`GrantNic`: the whole NIC in grant mode, Verilated; registers over AXI4-Lite, words at speed."""

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from precog_hw.config import NicConfig
from precog_hw.export import nic_verilog
from precog_hw.nic import nic_map

from .axil import PinTransport
from .block import RtlBlock, block_library
from .stream_block import Link, StreamBlock, StreamRun

__all__ = ["GrantNic"]


@cache
def _library(config: NicConfig, tick_ps: int) -> Path:
    """Elaborating takes seconds, so a process does it once."""
    text = nic_verilog(config, name=RtlBlock.TOP, tick_ps=tick_ps)
    return block_library(text, "stream_harness", label=f"NIC with grants, {config.qps} QPs")


class GrantNic(PinTransport):
    """A transport whose device also takes samples, requests and acknowledgements.

    Its time stands still while registers are accessed.

    Parameters
    ----------
    config : NicConfig
        With `grants`, without packets.
    tick_ps : int
        Length of a tick, picoseconds.
    start : int
        Ticks at the first cycle.
    """

    def __init__(self, config: NicConfig, *, tick_ps: int = 1000, start: int = 0) -> None:
        self.block = StreamBlock(_library(config, tick_ps))
        super().__init__(self.block, nic_map(config, tick_ps=tick_ps).address_bits)
        self.block.poke(m_decision_tready=1, now=start)

    def run(
        self,
        cycles: int,
        sources: Mapping[str, Sequence[tuple[int, int]]],
        *,
        link: Link | None = None,
        seed: int = 1,
    ) -> StreamRun:
        """Clock the NIC, as `StreamBlock.run`: words are grants, events those of the pacer."""
        return self.block.run(
            cycles,
            sources,
            sink="m_grant",
            monitor="pace_log",
            clock=("now", 40),
            link=link or Link(),
            seed=seed,
            room=cycles + 1,
        )
