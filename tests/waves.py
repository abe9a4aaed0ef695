"""``pytest --waves``: every simulation of a test that fails leaves a waveform in ``build/waves``.

Amaranth's simulations write a VCD file and a layout for GTKWave with the ports of the design.
Verilated libraries are built anew, with tracing, and each instance writes a VCD file. Surfer and
GTKWave open both kinds.
"""

import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from amaranth.lib import wiring
from amaranth.sim import Simulator

from precog_sim.rtl.verilate import WAVES

__all__ = ["ROOT", "folder_of", "waves"]

ROOT = Path("build/waves")


def folder_of(node: str) -> Path:
    """Where a test's waveforms go."""
    return ROOT / re.sub(r"[^\w.-]+", "_", node.removeprefix("tests/"))


@contextmanager
def waves(folder: Path) -> Iterator[None]:
    """Simulations that run inside write waveforms into a new folder."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(WAVES, str(folder.resolve()))
        patch.setattr(Simulator, "__init__", _keeping(Simulator.__init__))
        for name in ("run", "run_until"):
            patch.setattr(Simulator, name, _noting(getattr(Simulator, name), folder))
        yield


def _keeping(construct: Callable[..., None]) -> Callable[..., None]:
    """A simulator remembers the ports of its top."""

    def init(self: Simulator, toplevel: Any, *args: Any, **kwargs: Any) -> None:
        construct(self, toplevel, *args, **kwargs)
        self.ports_of_top = [toplevel] if isinstance(toplevel, wiring.Component) else []
        self.noted = False

    return init


def _noting(method: Callable[..., None], folder: Path) -> Callable[..., None]:
    """A run of a simulator is written to a file, unless the simulator has run before."""

    def run(self: Simulator, *args: Any, **kwargs: Any) -> None:
        if self.noted:  # Amaranth writes from time 0 only
            method(self, *args, **kwargs)
            return
        self.noted = True
        path = folder / f"amaranth-{len(list(folder.glob('amaranth-*.vcd'))) + 1}.vcd"
        layout = str(path.with_suffix(".gtkw"))
        with self.write_vcd(str(path), layout, traces=self.ports_of_top):
            method(self, *args, **kwargs)

    return run
