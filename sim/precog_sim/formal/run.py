"""Every proof, then every mutant; what was found goes to a JSON file.

The report of a mutant says whether the proof caught it. A mutant that survives is a failure of the
proof, not of the design.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from . import (
    advice,
    arbiter,
    axil,
    beats,
    checksum,
    cnp,
    cnp_frame,
    decide,
    editor,
    editor_chain,
    extraction,
    law_ecc,
    law_programs,
    law_safety,
    law_time,
    laws,
    loader,
    owners,
    pace_credit,
    pace_expiry,
    pace_lists,
    pace_rows,
    pace_wheel,
    pace_whole,
    path,
    port,
    port_changes,
    psched,
    rows,
    samples,
    samples_pipeline,
    senders,
    store,
    streams,
    trace,
    trials,
    trust,
)
from .engine import Part, Proof, check, elaborated, translated
from .mutate import Mutant, mutated

__all__ = ["MUTANTS", "PROOFS", "Report", "catch", "prove", "run", "smt_texts"]

_BLOCKS = (
    streams,
    axil,
    loader,
    beats,
    arbiter,
    editor,
    editor_chain,
    decide,
    extraction,
    path,
    checksum,
    cnp,
    cnp_frame,
    trust,
    senders,
    port,
    port_changes,
    samples,
    samples_pipeline,
    law_ecc,
    law_programs,
    law_safety,
    law_time,
    laws,
    owners,
    pace_rows,
    pace_whole,
    pace_credit,
    pace_lists,
    pace_expiry,
    pace_wheel,
    rows,
    advice,
    psched,
    trials,
    store,
    trace,
)
PROOFS: tuple[Proof, ...] = tuple(proof for block in _BLOCKS for proof in block.PROOFS)
MUTANTS: tuple[Mutant, ...] = tuple(mutant for block in _BLOCKS for mutant in block.MUTANTS)


@dataclass(frozen=True)
class Report:
    """One line of the summary.

    Attributes
    ----------
    name : str
        The proof's name.
    claim : str
        The property, or the mistake.
    kind : str
        ``bounded``, ``induction``, ``cover`` or ``mutant``.
    depth : int
        Cycles.
    ok : bool
        The claim holds, or the mutant was caught.
    seconds : float
    detail : str
        Where it failed.
    """

    name: str
    claim: str
    kind: str
    depth: int
    ok: bool
    seconds: float
    detail: str


def smt_texts(proofs: Iterable[Proof], mutants: Iterable[Mutant]) -> list[str]:
    """SMT-LIB of the proofs and then of the mutants, by one run of yosys."""
    texts = [elaborated(proof) for proof in proofs]
    for mutant in mutants:
        with mutated(mutant):
            texts.append(elaborated(_proof_of(mutant)))
    return translated(texts)


def _proof_of(mutant: Mutant) -> Proof:
    return next(proof for proof in PROOFS if proof.name == mutant.proof)


def prove(proof: Proof, out: Path | None = None, *, smt: str | None = None) -> Report:
    """Run one proof; a counterexample goes to a VCD file of its name in folder `out`."""
    waves = None if out is None else out / f"{proof.name}.vcd"
    outcome = check(proof, waves=waves, smt=smt)
    return Report(
        proof.name,
        proof.claim,
        proof.mode.value,
        proof.depth,
        outcome.holds,
        outcome.seconds,
        outcome.detail,
    )


def catch(mutant: Mutant, *, smt: str | None = None) -> Report:
    """Run a proof on one of its mutants, which it must refute."""
    proof, part = _proof_of(mutant), Part.STEP if mutant.step else Part.RESET
    if smt is None:
        (smt,) = smt_texts([], [mutant])
    outcome = check(proof, part, depth=mutant.cycles, smt=smt)
    return Report(
        proof.name,
        mutant.mistake,
        "mutant",
        mutant.cycles or proof.depth,
        not outcome.holds,
        outcome.seconds,
        outcome.detail,
    )


def run(
    proofs: Iterable[Proof] = PROOFS,
    mutants: Iterable[Mutant] = MUTANTS,
    *,
    out: Path | None = None,
    quiet: bool = False,
) -> list[Report]:
    """Run proofs and mutants.

    Parameters
    ----------
    proofs, mutants : iterable
    out : Path, optional
        Folder for ``summary.json`` and counterexamples.
    quiet : bool
        No progress bar, no table.

    Returns
    -------
    list of Report
        In the order given, proofs first.
    """
    proofs, mutants = list(proofs), list(mutants)
    reports: list[Report] = []
    console = Console(quiet=quiet)
    columns = (
        TextColumn("[bold]{task.description}"),
        BarColumn(),
        TextColumn("{task.completed}/{task.total}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("Proving", total=len(proofs) + len(mutants))
        for proof in proofs:
            progress.update(task, description=f"Proving {proof.name}")
            reports.append(prove(proof, out))
            _say(console, reports[-1])
            progress.advance(task)
        for mutant in mutants:
            progress.update(task, description=f"Mutant of {mutant.proof}")
            reports.append(catch(mutant))
            _say(console, reports[-1])
            progress.advance(task)
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        rows = [vars(report) for report in reports]
        (out / "summary.json").write_text(json.dumps(rows, indent=1) + "\n")
    return reports


def _say(console: Console, report: Report) -> None:
    good = "caught" if report.kind == "mutant" else "holds"
    bad = "SURVIVED" if report.kind == "mutant" else f"FAILS: {report.detail}"
    word = f"[green]{good}[/]" if report.ok else f"[bold red]{bad}[/]"
    console.print(
        f"{report.name:18} {report.kind:10} {report.seconds:6.1f} s  {word}  {report.claim}",
        soft_wrap=True,
        highlight=False,
    )
