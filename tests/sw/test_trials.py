"""The trials' driver and command, and the golden NIC's trials behind their registers."""

import json

import numpy as np
import pytest
from tests.command_line import Run

from precog_host.device import Device
from precog_host.driver.trials import TrialsDriver
from precog_host.emulator.device import Emulator
from precog_host.transport import DeviceError
from precog_spec.config import NicConfig
from precog_spec.contract import DECISION_FIELDS, Flag
from precog_spec.law_fields import EventKind
from precog_spec.trial_fields import ROUND_LEAST, TRIAL_KINDS

ROUND = 1 << ROUND_LEAST
_FLAGS = [name for name, _ in DECISION_FIELDS].index("flags")


class Tried:
    """A device whose queue pair 1 runs `fixed` at 40 Gb/s, with scores that halve its rate."""

    def __init__(self) -> None:
        self.emulator = Emulator(NicConfig(qps=4, sets=2, trials=True))
        self.device = Device(self.emulator)
        self.device.set_parameters(psched="precog", psched_skill=0, psched_score_us=0)
        self.device.set_parameters(trial_scores=1, trial_round=0, trial_least=8)
        self.device.qp(1).configure(
            preset="precog", enable=True, algorithm="fixed", init_gbps=40.0, psched=True
        )
        self.emulator.happen(np.array([EventKind.SCORE, 1, 0, 100]))

    def go(self, rounds: int) -> int:
        """Two samples a round with a delay of 5 us, the same in both arms; how many were moved."""
        moved = 0
        for n in range(rounds):
            for half in (0, ROUND // 2):
                samples = np.array([[1, 9000 if n or half else 4000, n * ROUND + half]])
                moved += int(self.emulator.decide(samples)[0, _FLAGS]) >> Flag.SCORED & 1
        return moved


def test_scores_that_only_slow_are_worthless() -> None:
    tried = Tried()
    tried.go(400)
    trials = tried.device.trials
    assert trials is not None
    found = trials.found("scores")
    assert found.verdict == "worthless"
    assert found.follow.delay_us == pytest.approx(5.0)
    assert found.follow.rate_gbps is not None
    assert found.hold.rate_gbps == pytest.approx(40.0, rel=1e-3)
    assert found.ratio == pytest.approx(40.0 / found.follow.rate_gbps, rel=0.02)
    assert 50 < found.follow.samples + found.hold.samples < 150
    assert trials.found("rtt").verdict == "undecided"


def test_a_reset_forgets_all() -> None:
    tried = Tried()
    tried.go(100)
    tried.device.reset.begin(["trials"])
    trials = tried.device.trials
    assert trials is not None
    found = trials.found("scores")
    assert (found.verdict, found.follow.samples, found.ratio) == ("undecided", 0, None)


def test_what_is_off_changes_nothing() -> None:
    """Each decision follows the score; with the trial on, few do."""
    tried = Tried()
    tried.device.set_parameters(trial_scores=0)
    assert tried.go(100) == 200
    assert not any(tried.emulator.nic.trial("scores").values())
    tried.device.set_parameters(trial_scores=1)
    assert 50 < tried.go(100) < 150


def test_unknown_advice_and_devices_without_trials_are_refused() -> None:
    tried = Tried()
    assert tried.device.trials is not None
    with pytest.raises(ValueError, match="advice must be one of rtt, scores, not 'score'"):
        tried.device.trials.found("score")
    without = Device(Emulator(NicConfig(qps=4, sets=2)))
    assert without.trials is None
    with pytest.raises(DeviceError, match=r"built without trials \(trials=0\)"):
        TrialsDriver(without.registers)


def test_the_command_shows_both(run: Run) -> None:
    shown = json.loads(run("cc", "trials", "show", "-d", "emu:trials=1", "-j").out)
    assert [one["advice"] for one in shown] == list(TRIAL_KINDS)
    assert {one["verdict"] for one in shown} == {"undecided"}
    refused = run("cc", "trials", "show", "-d", "emu:")
    assert refused.status == 2
    assert "emu:trials=1" in refused.err
