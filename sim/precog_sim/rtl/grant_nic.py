"""`GrantNic`: the whole NIC in grant mode, Verilated; registers over AXI4-Lite, words at speed."""

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from precog_hw.export import block_verilog
from precog_hw.nic import PrecogNic, nic_map
from precog_spec.config import NicConfig

from .axil import PinTransport
from .block import RtlBlock, block_library
from .stream_block import Link, StreamBlock, StreamRun

__all__ = ["GrantNic"]


@cache
def _library(config: NicConfig, tick_ps: int) -> Path:
    """Elaborating takes seconds, so a process does it once."""
    text = block_verilog(PrecogNic(config, tick_ps=tick_ps), name=RtlBlock.TOP)
    return block_library(
        text, "stream_harness", label=f"NIC with grants, {config.qps} QPs", late=True
    )


class GrantNic(PinTransport):
    """A transport whose device also takes samples, requests and acknowledgements.

    While registers are accessed its time stands still, and no grant is taken.

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
        self._noted: list[tuple[int, int]] = []

    def run(
        self,
        cycles: int,
        sources: Mapping[str, Sequence[tuple[int, int]]],
        *,
        link: Link | None = None,
        seed: int = 1,
    ) -> StreamRun:
        """Clock the NIC, as `StreamBlock.run`: words are grants, events those of the pacer.

        The pacer's events of register accesses since the last run come first. A word that is not
        taken until the end is withdrawn.
        """
        run = self.block.run(
            cycles,
            sources,
            sink="m_grant",
            monitor="pace_log",
            clock=("now", 40),
            link=link or Link(),
            seed=seed,
            room=cycles + 1,
        )
        self.block.poke(m_grant_tready=0, **{f"{name}_tvalid": 0 for name in sources})
        run.events[:0] = self._noted
        self._noted = []
        return run

    def _tick(self) -> None:
        if self.block.peek("pace_log_stb"):
            self._noted.append((self.block.cycles, self.block.peek("pace_log")))
        super()._tick()
