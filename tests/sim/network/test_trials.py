"""Trials of advice in the loop of a network: is following a prediction worth it?"""

import pytest

from precog_host.device import Device
from precog_models.image import pretrained
from precog_sim.loop import LoopSetup, run_in_loop
from precog_sim.network import Flow, Scenario, star
from precog_sim.scored.judge import inverted
from precog_spec.trial_fields import Verdict

_FLOWS, _MS, _GBPS = 8, 100.0, 100.0


@pytest.mark.parametrize(("false", "verdict"), [(False, Verdict.WORTH), (True, Verdict.WORTHLESS)])
def test_a_trial_finds_true_predictions_worth_following_and_false_ones_not(
    false: bool, verdict: Verdict, volume: int
) -> None:
    """Long flows, because a trial takes many rounds. No skill monitor judges the predictions."""
    size = round(_GBPS * _MS * 1e3 / 8e-3)
    flows = tuple(Flow(k + 1, 0, size) for k in range(_FLOWS))
    scenario = Scenario("long", star(_FLOWS + 1), flows, horizon_us=_MS * 1e3, jitter_ns=5000.0)
    image = inverted(pretrained()) if false else pretrained()
    tries = {"skill_monitor": 0.0, "trial_rtt": 1.0, "trial_round": 5.0}
    for seed in range(volume):
        parameters = (*tries.items(), ("trial_seed", float(seed)))
        setup = LoopSetup(
            preset="precog",
            algorithm="predpid",
            image=image,
            min_gbps=0.1,
            parameters=parameters,
        )
        with Device.open("emu:trials=1") as device:
            assert device.trials is not None
            run_in_loop(device, setup, scenario, seed=seed)
            found = device.trials.found("rtt")
        ratio = found.ratio
        print(f"seed {seed}: {found.verdict}, {ratio:.3f} of delay x time")
        assert found.verdict == verdict.name.lower()
