"""Tables of links that lose packets: a row where none does."""

from typing import Any

import numpy as np

from precog_sim.network.layout import FaultCol, Kind, OutageCol
from precog_sim.network.scenario import Scenario

__all__ = ["fault_tables"]


def fault_tables(scenario: Scenario) -> dict[str, Any]:
    """Tables by their name in `Net`."""
    links = scenario.topology.links
    ports = 2 * len(links) if scenario.has_faults else 1
    fault = np.zeros((ports, FaultCol.WIDTH), dtype=np.int64)
    loss = np.zeros(ports)
    if scenario.has_faults:
        loss[:] = np.repeat([link.loss for link in links], 2)
    events: list[tuple[int, int, int]] = []
    for failure in scenario.failures:
        for port in (2 * failure.link, 2 * failure.link + 1):
            events.append((failure.down_ps, Kind.DOWN, port))
            if failure.up_ps is not None:
                events.append((failure.up_ps, Kind.UP, port))
    detect_ps = round(scenario.detect_us * 1e6)
    events += [(state.begin_ps + detect_ps, Kind.ROUTES, 0) for state in scenario.link_states[1:]]
    outages = np.array(sorted(events), dtype=np.int64).reshape(-1, OutageCol.WIDTH)
    return {"fault": fault, "wire_loss": loss, "outages": outages}
