"""Arms of the study on any scenario: what its flows know of the number that shares their link."""

from dataclasses import replace

import numpy as np

from precog_net.workloads import Traffic
from precog_sim.network import Scenario
from precog_studies.prediction.arms import ARMS, FALSE

__all__ = ["with_arm"]

_PRIOR = "prior"  # needs classes of flows, and other runs


def with_arm(scenario: Scenario, name: str, seed: int = 0) -> Scenario:
    """The scenario with an arm's hints; its law and start rates stay.

    Raises
    ------
    ValueError
        There is no such arm, or it needs more than a scenario's flows.
    """
    known = {key: arm for key, arm in {**ARMS, **FALSE}.items() if not arm.start_gbps}
    known = {key: arm for key, arm in known.items() if not arm.predictor and key != _PRIOR}
    if name not in known:
        raise ValueError(f"arm must be one of {', '.join(known)}, not {name!r}")
    flows = scenario.flows
    start, src, dst, size = np.array(
        [(flow.start_ps, flow.src, flow.dst, flow.size) for flow in flows], dtype=np.int64
    ).T
    traffic = Traffic(start, src, dst, size, ("",) * len(flows))
    return replace(scenario, hints=known[name].hints(traffic, {}, seed))
