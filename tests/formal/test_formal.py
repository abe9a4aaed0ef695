"""The fast proofs hold, their mutants are caught, and the machinery can tell the difference."""

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Assert, Fragment, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from precog_sim.formal.__main__ import main
from precog_sim.formal.engine import Mode, Part, Proof, check
from precog_sim.formal.mutate import Mutant, mutated
from precog_sim.formal.run import MUTANTS, PROOFS, catch, prove, run, smt_texts

pytestmark = pytest.mark.synth

_LOTS = 6
_PROOF_LOTS = [[proof for proof in PROOFS if proof.quick][lot::_LOTS] for lot in range(_LOTS)]
_MUTANT_LOTS = [[mutant for mutant in MUTANTS if mutant.quick][lot::_LOTS] for lot in range(_LOTS)]


class Counter(wiring.Component):
    """Counts to `limit` and stays, while it is told to go."""

    go: In(1)

    def __init__(self, limit: int, bound: int) -> None:
        super().__init__()
        self._limit = limit
        self._bound = bound

    def elaborate(self, platform: object) -> Module:
        m = Module()
        count = Signal(4)
        with m.If(self.go & (count < self._limit)):
            m.d.sync += count.eq(count + 1)
        m.d.comb += Assert(count <= self._bound, "the count stays in its bounds")
        return m


def counter(
    limit: int, bound: int, mode: Mode = Mode.INDUCTION, depth: int = 6, *, fresh: bool = False
) -> Proof:
    return Proof("counter", lambda: Counter(limit, bound), mode, depth, "bounded", fresh=fresh)


@pytest.mark.parametrize("fresh", [False, True])
def test_a_true_claim_holds_and_a_false_one_fails(fresh: bool, tmp_path: Path) -> None:
    waves = tmp_path / "new/counter.vcd"
    assert check(counter(4, 4, fresh=fresh), waves=waves).holds
    assert not waves.exists()
    refuted = check(counter(4, 3, fresh=fresh), waves=waves)
    assert not refuted.holds
    assert "fail" in refuted.detail.lower()
    assert re.search(r"\$var .* count\b", waves.read_text())


def test_a_bounded_proof_sees_no_further_than_its_depth() -> None:
    assert check(counter(9, 8, Mode.BOUNDED)).holds
    for fresh in (False, True):  # the induction step does not stop there
        assert not check(counter(9, 8, fresh=fresh)).holds


def test_the_parts_of_an_induction_are_asked_one_by_one() -> None:
    late = counter(9, 8)  # it fails, but not within its depth
    assert check(late, Part.RESET).holds
    assert not check(late, Part.RESET, depth=12).holds
    assert not check(late, Part.STEP).holds
    with pytest.raises(
        ValueError, match="counter must be an induction to have a step, not bounded"
    ):
        check(counter(4, 4, Mode.BOUNDED), Part.STEP)


@cache
def texts(lot: int) -> dict[Proof | Mutant, str]:
    """What yosys makes of a lot's proofs and mutants: it starts once for all of them."""
    proofs, mutants = _PROOF_LOTS[lot], _MUTANT_LOTS[lot]
    return dict(zip([*proofs, *mutants], smt_texts(proofs, mutants), strict=True))


def by_lots(lots: Sequence[Sequence[Proof | Mutant]], name: str) -> list[Any]:
    """Parameters of a test; a worker of pytest has whole lots."""
    return [
        pytest.param(
            one, lot, id=getattr(one, name), marks=pytest.mark.xdist_group(f"formal-{lot}")
        )
        for lot, ones in enumerate(lots)
        for one in ones
    ]


@pytest.mark.parametrize(("proof", "lot"), by_lots(_PROOF_LOTS, "name"))
def test_quick_proof(proof: Proof, lot: int) -> None:
    report = prove(proof, smt=texts(lot)[proof])
    assert report.ok, report.detail


@pytest.mark.parametrize(("mutant", "lot"), by_lots(_MUTANT_LOTS, "mistake"))
def test_quick_mutant_is_caught(mutant: Mutant, lot: int) -> None:
    report = catch(mutant, smt=texts(lot)[mutant])
    assert report.ok, f"survived: {mutant.mistake}"


def test_every_induction_has_a_mutant_of_its_own() -> None:
    caught = {mutant.proof for mutant in MUTANTS}
    alone = [p.name for p in PROOFS if p.mode is Mode.INDUCTION and p.name not in caught]
    assert not alone, "an induction without a mutant may prove nothing: add one beside it"


def test_every_mutant_still_applies() -> None:
    names = {proof.name for proof in PROOFS}
    for mutant in MUTANTS:
        assert mutant.proof in names
        with mutated(mutant) as module:
            assert module.__name__ == mutant.module


def test_every_slow_harness_elaborates() -> None:
    """Its changes of a block's text must still apply; those of quick proofs are translated."""
    waiting = [Fragment.get(proof.build(), None) for proof in PROOFS if not proof.quick]
    while waiting:
        inner = waiting.pop().subfragments
        waiting += [Fragment.get(fragment, None) for fragment, *_ in inner]


def test_a_mutant_whose_text_is_gone_is_an_error() -> None:
    mutant = Mutant("skid.rules", "precog_hw.stream.skid", "no such text", "", "nothing")
    with (
        pytest.raises(ValueError, match=r"the mutant's text must occur once .*, not 0 times"),
        mutated(mutant),
    ):
        pass


def test_the_summary_says_what_was_claimed(tmp_path: Path) -> None:
    import json

    run([PROOFS[0]], [], out=tmp_path, quiet=True)
    (row,) = json.loads((tmp_path / "summary.json").read_text())
    assert row["name"] == PROOFS[0].name
    assert row["ok"] is True


def test_proofs_are_chosen_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--list", "arbiter.turns.*"]) == 0
    names = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    chosen = [proof.name for proof in PROOFS if proof.name.startswith("arbiter.turns.")]
    assert names == chosen
    assert len(names) > 1
    with pytest.raises(SystemExit):
        main(["arbiter.turns.65"])
    assert "not 'arbiter.turns.65'" in capsys.readouterr().err
