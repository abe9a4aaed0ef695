"""Tables of selective repeat, waiting answers and sprayed packets: one row if not used."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from precog_sim.network.layout import AnswerCol, RepeatCol
from precog_sim.network.scenario import Scenario
from precog_sim.network.selective import map_words

__all__ = ["recovery_tables"]

_Table = NDArray[np.int64]


def recovery_tables(scenario: Scenario, rows: int) -> dict[str, Any]:
    """Tables by their name in `Net`; `rows` is how many records there are."""
    flows = len(scenario.flows)
    topology = scenario.topology
    selective = scenario.recovery.selective
    words = map_words(scenario.recovery.window)

    def zeros(used: bool, count: int, width: int) -> _Table:
        return np.zeros((count if used else 1, width), dtype=np.int64)

    return {
        "repeat": zeros(selective, flows, RepeatCol.WIDTH),
        "arrived": zeros(selective, flows, words),
        "selected": zeros(selective, flows, words),
        "sack": zeros(selective, rows, 2),
        "answer": zeros(scenario.answers.every > 1, flows, AnswerCol.WIDTH),
        "turns": zeros(scenario.spray == "turns", topology.switches, topology.hosts),
    }
