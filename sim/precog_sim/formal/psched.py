"""The predictive scheduler: bounds come last, what scores take is bounded, none rises above them.

`psched_harness` has the gateware, its free inputs and what is kept of a queue pair,
`psched_outputs` the claims on its decisions, `psched_steps` the invariants of its states.
"""

from functools import partial

from .engine import Mode, Proof
from .mutate import Mutant
from .psched_harness import PSCHED, PschedHarness

__all__ = ["MUTANTS", "PROOFS"]

_DEPTH = 26  # a command and a decision from reset

PROOFS = (
    Proof(
        "psched.rate",
        PschedHarness,
        Mode.INDUCTION,
        1,
        "for ever, any law, products, scores: [min, max]; above the scores' threshold no rise but "
        "to the share of the law's rate that scores must leave, and never less; above the engine's "
        "threshold for RTTs no rise; every score is among "
        "those to be judged; without one the base law alone, within 20 cycles; no queue pair moves "
        "another's",
        quick=False,
    ),
    Proof(
        "psched.near",
        partial(PschedHarness, near=True),
        Mode.BOUNDED,
        _DEPTH,
        "the same of one command and the decision after it, from reset",
        quick=False,
    ),
    Proof(
        "psched.cover",
        partial(PschedHarness, near=True),
        Mode.COVER,
        2 * _DEPTH,
        "a score raises a rate, and one cuts it that has been told before",
        quick=False,
    ),
)
MUTANTS = (
    Mutant(
        "psched.near",
        PSCHED,
        "new.output.eq(clamped(at.wanted, at.config))",
        "new.output.eq(at.wanted)",
        "the bounds do not come last",
    ),
    Mutant(
        "psched.rate",
        PSCHED,
        "falls_back | (sinks & at.sunk)",
        "falls_back",
        "above the engine's threshold a rate rises to what scores must leave",
        step=True,
    ),
    Mutant(
        "psched.near",
        PSCHED,
        "moves.eq(scored & ~at.held)",
        "moves.eq(scored)",
        "a score moves the rate while advice is held",
    ),
    Mutant(
        "psched.near",
        PSCHED,
        "(new.judged >= JUDGED_MIN)",
        "(new.judged <= JUDGED_MIN)",
        "a score is followed that was not judged",
    ),
    Mutant(
        "psched.near",
        PSCHED,
        "with m.Elif(at.above > 0):",
        "with m.Elif(at.above > 5):",
        "a score just above the threshold does not act",
    ),
    Mutant(
        "psched.rate",
        PSCHED,
        "Mux(falls_back, at.sunk, at.wanted < at.floor)",
        "at.wanted < at.floor",
        "the last output binds below what scores must leave: a ratchet",
        step=True,
    ),
    Mutant(
        "psched.near",
        PSCHED,
        "halvings.eq(par.psched_cut + new.doubt)",
        "halvings.eq(new.doubt)",
        "scores take more than their share",
    ),
    Mutant(
        "psched.rate",
        PSCHED,
        "new.doubt.eq(old.doubt + 1)",
        "new.doubt.eq(old.doubt)",
        "what samples refute goes on as it was",
        step=True,
    ),
    Mutant(
        "psched.rate",
        PSCHED,
        "with m.If(~old.heard | (new.score > old.most)):",
        "with m.If(~old.heard):",
        "only the first score between two samples is judged",
        step=True,
    ),
    Mutant(
        "psched.rate",
        PSCHED,
        "Mux(old.heard, old.most, holds)",
        "holds",
        "a forged score is not judged if a right one holds when the sample comes",
        step=True,
    ),
    Mutant(
        "psched.rate",
        PSCHED,
        "Mux(about.score_stb & ~old.heard, 0, about.t - old.score_t)",
        "Mux(about.score_stb, 0, about.t - old.score_t)",
        "without samples each new score renews the others' life",
        step=True,
    ),
    Mutant(
        "psched.near",
        PSCHED,
        "new.command == ScoreCommand.REDUCE",
        "new.command == ScoreCommand.HOLD",
        "a command to reduce is not followed",
    ),
    *(
        Mutant("psched.rate", PSCHED, *mistake, step=True)
        for mistake in (
            (
                "moves.eq(scored & ~at.held)",
                "moves.eq(scored)",
                "a score moves the rate while advice is held",
            ),
            (
                "with m.Elif(cuts & falls_back):",
                "with m.Elif(0):",
                "a rate rises while its score is above the threshold",
            ),
        )
    ),
)
