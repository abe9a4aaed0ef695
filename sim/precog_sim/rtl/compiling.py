"""C++ of a Verilated model -> a shared library, laid out by what a practice run of it did.

A model's code is straight, and longer than an instruction cache: how fast it runs depends on
the code's layout. g++ knows once it has counted, so where a `Plan` has a practice, the model is
compiled twice, and in between run once with counters in it.
"""

import fcntl
import hashlib
import os
import platform
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

__all__ = ["FAST", "PREFIX", "QUICK", "Plan", "VerilateError", "compiled", "digest", "run_tool"]

#: A model's code is streamed through the instruction cache every cycle, so small beats unrolled;
#: what runs once, at the start, is not worth a compiler's time. With `FAST`, what differs in names
#: only is put into loops first.
FAST, ONCE = "-O2", "-O0"
VECTORS = ("-ftree-vectorize", "-fvect-cost-model=dynamic")
#: For a model that runs for seconds. With the search for redundant loads left out, -Og compiles in
#: the time of -O0, half of that of -O1, and the model runs about 15 % slower than with -O1.
QUICK = "-Og"
PLAIN = ("-fno-tree-fre",)

#: Bytes of C++ that are compiled at once. A compiler reads headers for more than a second before it
#: comes to a model's own code, and Verilator writes many small files; larger lumps leave a compiler
#: alone at the end.
#: With `QUICK`, headers take a larger part of the time.
LUMP, QUICK_LUMP = 1_500_000, 3_000_000

#: g++ keeps integers in MMX registers where it runs out of others, and gives none of them back:
#: x87 arithmetic in the same process, such as libm's fmod, finds its stack full and returns NaN.
_X86_FLAGS = ("-mno-mmx",) if platform.machine() in ("x86_64", "AMD64", "i686") else ()
CXX_FLAGS = (
    *_X86_FLAGS,
    "-std=gnu++20",
    "-march=native",
    "-fPIC",
    "-fno-plt",
    "-fno-semantic-interposition",
    "-fvisibility=hidden",
    "-DVM_SC=0",
    "-DVM_TIMING=0",
    "-DVM_TRACE_FST=0",
    "-DVM_TRACE_SAIF=0",
    "-w",
)

#: The header before all others, precompiled.
PREFIX = "arithmetic.h"

#: Verilator's run-time library: compiled once, whatever the model.
RUNTIME = ("verilated.cpp", "verilated_threads.cpp")
COVERAGE_RUNTIME = ("verilated_cov.cpp",)
WAVES_RUNTIME = ("verilated_vcd_c.cpp",)

COUNTING = ("-fprofile-generate", "-fprofile-update=single")
COUNTED = ("-fprofile-use",)


class VerilateError(RuntimeError):
    """A tool of the build failed; the message carries its last lines."""


@dataclass(frozen=True)
class Plan:
    """How a library is compiled.

    Attributes
    ----------
    compiler : str
    effort : str
        The compiler's option for what runs in every cycle.
    coverage : bool
        Lines are counted.
    waves : bool
        Every instance writes a VCD file.
    once : bool
        Combinational logic is evaluated once for an edge; it must not look like a loop then.
    practice : tuple of str
        This Python's arguments, to which the library is added, for a run of what it will do most;
        empty: none.
    jobs : int
        Compilers at a time.
    quiet : bool
        No progress bar.
    """

    compiler: str
    effort: str
    coverage: bool
    waves: bool
    once: bool
    practice: tuple[str, ...]
    jobs: int
    quiet: bool

    @property
    def cxx_flags(self) -> list[str]:
        """Options of every compilation."""
        kinds = {"COVERAGE": self.coverage, "TRACE": self.waves, "TRACE_VCD": self.waves}
        return [*CXX_FLAGS, *(f"-DVM_{name}={int(on)}" for name, on in kinds.items())]


@dataclass(frozen=True)
class _Unit:
    """A file to be compiled: into what, with which effort and further options."""

    source: Path
    target: Path
    effort: str
    extra: tuple[str, ...] = ()

    @property
    def part(self) -> Path:
        """What a compiler writes before it is complete; where counts are found goes by its name."""
        return self.target.parent / f"{self.source.stem}.{os.getpid()}.o"


def compiled(
    model: Path, include: Path, prefix: str, plan: Plan, progress: Callable[[int, int], None]
) -> Path:
    """The library of folder `model`: ``lib.so`` there.

    Parameters
    ----------
    model : Path
        Verilated C++, headers and harness.
    include : Path
        Verilator's own sources.
    prefix : str
        Text of `PREFIX`.
    plan : Plan
    progress : function of (done, total)
        Called after each file.

    Raises
    ------
    VerilateError
        The compiler or the practice failed.
    """
    own = QUICK if plan.effort == QUICK else FAST  # of Verilator's run-time library
    recipe = digest(plan.compiler, *_effort(own), *plan.cxx_flags, str(include), prefix)
    runtime = model.parent.parent / f"runtime-{recipe}"
    runtime.mkdir(exist_ok=True)
    sources = _lumps(model, plan.effort)
    once = [_Unit(path, path.with_suffix(".o"), ONCE) for path, effort in sources if effort == ONCE]
    names = RUNTIME + COVERAGE_RUNTIME * plan.coverage + WAVES_RUNTIME * plan.waves
    once += [_Unit(include / name, runtime / f"{name}.o", own) for name in names]
    fast = [
        _Unit(path, path.with_suffix(".o"), effort) for path, effort in sources if effort != ONCE
    ]
    counting = [
        replace(unit, target=unit.source.with_suffix(".counting.o"), extra=COUNTING)
        for unit in fast
    ]
    done, total = 0, len(once) + len(fast)
    if plan.practice:
        total += len(once) + len(counting)
    found = [f"-I{include}", f"-I{include / 'vltstd'}"]
    before = {
        effort: _precompiled(prefix, runtime, plan, [*_effort(effort), *found])
        for effort in {effort for _, effort in sources}
    }

    def compile_one(unit: _Unit) -> None:
        nonlocal done
        if not unit.target.exists():
            special = ["-include", str(before[unit.effort])] if unit.source.parent == model else []
            command = [plan.compiler, *_effort(unit.effort), *plan.cxx_flags, *unit.extra]
            command += [f"-I{model}", *found, *special, "-c", str(unit.source)]
            run_tool([*command, "-o", str(unit.part)], model, None, "g++")
            os.replace(unit.part, unit.target)
        done += 1
        progress(done, total)

    def link(units: Sequence[_Unit], name: str, *extra: str) -> Path:
        with ThreadPoolExecutor(plan.jobs) as pool:
            waiting = [pool.submit(compile_one, unit) for unit in (*units, *once)]
            try:
                for future in waiting:
                    future.result()
            except VerilateError:
                pool.shutdown(cancel_futures=True)
                raise
        done_objects = [str(unit.target) for unit in (*units, *once)]
        command = [plan.compiler, *plan.cxx_flags, *extra, "-shared", *done_objects]
        run_tool([*command, "-lpthread", "-latomic", "-o", str(model / name)], model, None, "g++")
        return model / name

    progress(done, total)
    if plan.practice:
        library = link(counting, "counting.so", *COUNTING)
        run_tool([sys.executable, *plan.practice, str(library)], Path.cwd(), None, "the practice")
        # Another compiler may count elsewhere: what it makes is as it would be without.
        fast = [replace(unit, extra=COUNTED) for unit in fast]
    return link(fast, "lib.so")


def digest(*parts: str) -> str:
    """A short name for several texts."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def _effort(level: str) -> tuple[str, ...]:
    """The compiler's options for a level of optimisation."""
    return (level, *{FAST: VECTORS, QUICK: PLAIN}.get(level, ()))


def _precompiled(text: str, runtime: Path, plan: Plan, flags: list[str]) -> Path:
    """What every file of a model reads first, compiled once for each level of optimisation.

    It includes Verilator's own header, which takes a compiler as long as 500 kB of a model's code.
    """
    folder = runtime / flags[0].lstrip("-")
    folder.mkdir(exist_ok=True)
    header = folder / PREFIX
    compiled = folder / f"{PREFIX}.gch"
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not compiled.exists():
            header.write_text(text)
            part = folder / f"{os.getpid()}.gch"
            command = [plan.compiler, *flags, *plan.cxx_flags, "-x", "c++-header"]
            command.append(str(header))
            run_tool([*command, "-o", str(part)], folder, None, "g++")
            os.replace(part, compiled)
    return header


def _lumps(model: Path, fast: str) -> list[tuple[Path, str]]:
    """Files that include all of a model's, the largest first, and how each is to be compiled."""
    most = QUICK_LUMP if fast == QUICK else LUMP
    lumps: list[tuple[int, list[Path], str]] = []
    for source in sorted(model.glob("*.cpp"), key=lambda path: -path.stat().st_size):
        effort = ONCE if "__Slow" in source.name and fast != QUICK else fast
        size = source.stat().st_size
        for n, (whole, sources, of) in enumerate(lumps):
            if of == effort and whole + size <= most:
                lumps[n] = whole + size, [*sources, source], effort
                break
        else:
            lumps.append((size, [source], effort))
    made = []
    # The longest first, so that the last one does not run alone.
    for n, (_, sources, effort) in enumerate(sorted(lumps, key=lambda lump: -lump[0])):
        path = model / f"lump{n}.cpp"
        path.write_text("".join(f'#include "{source.name}"\n' for source in sources))
        made.append((path, effort))
    return made


def run_tool(command: list[str], cwd: Path, env: dict[str, str] | None, tool: str) -> None:
    """Run one tool; its output is shown only if it fails.

    Raises
    ------
    VerilateError
        It is missing, or failed.
    """
    try:
        done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True)
    except FileNotFoundError as error:
        raise VerilateError(f"{tool} must be installed, {command[0]!r} was not found") from error
    if done.returncode:
        lines = (done.stdout + done.stderr).strip().splitlines()
        errors = [n for n, line in enumerate(lines) if "rror" in line]
        first = errors[0] if errors else max(0, len(lines) - 25)
        tail = "\n".join(lines[first : first + 25])
        raise VerilateError(f"{tool} failed in {cwd}:\n{tail}")
