"""The predictor in the closed loop: the golden features of a run give what the card predicted."""

import numpy as np
from tests.sw.support import random_image

from precog_host.device import Device
from precog_models.data.pairs import make_pairs
from precog_models.data.trace import Role
from precog_models.train.evaluate import integer_rtt
from precog_sim.collect import rtt_trace
from precog_sim.loop import LoopSetup, run_in_loop
from precog_sim.network import Record, incast
from precog_spec.contract import Fmt


def test_a_trace_of_the_loop_holds_its_predictions(seed: int) -> None:
    image = random_image(seed)
    setup = LoopSetup(algorithm="predpid", target_us=5.0, image=image)
    with Device.open("emu:") as device:
        result = run_in_loop(device, setup, incast("hundredth"), seed=1, record=Record(log=True))
    pairs = make_pairs(rtt_trace(result, group="loop", law="predpid", role=Role.TEST))
    told_us = []
    for flow in range(int(result.sample_flow.max()) + 1):
        told_us.append(result.sample_predicted_us[result.sample_flow == flow][:-1])
    predicted = np.concatenate(told_us)
    assert predicted.size == len(pairs) > 100
    ticks = np.round(predicted * 1e3 * Fmt.SRTT.one).astype(np.int64)
    assert np.array_equal(ticks, integer_rtt(image, pairs))
