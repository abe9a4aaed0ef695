"""Tables of what receivers tell senders, as a run's record has them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from precog_sim.network.layout import HintCol, InboundCol, KnownCol, Lie
from precog_sim.network.memory import lined
from precog_sim.network.scenario import Scenario

__all__ = ["hint_tables"]


def hint_tables(scenario: Scenario, dice: NDArray[np.int64]) -> dict[str, Any]:
    """Tables by their name in `Net`; one row where nothing is told. `dice`: states, one a host.

    Raises
    ------
    ValueError
        There is not one guess for each flow, or a liar is no host.
    """
    hints, hosts = scenario.hints, scenario.topology.hosts
    if hints.guesses and len(hints.guesses) != len(scenario.flows):
        raise ValueError(
            f"hints guesses must be one for each of {len(scenario.flows)} flows, not "
            f"{len(hints.guesses)}"
        )
    wrong = [host for host in hints.liars if not 0 <= host < hosts]
    if wrong:
        raise ValueError(f"hints liars must be hosts in 0..{hosts - 1}, not {wrong[0]!r}")
    inbound = lined((hosts if hints.echo else 1, InboundCol.WIDTH))
    if hints.echo:
        inbound[:, InboundCol.RNG] = dice
    told = lined((len(scenario.flows) if hints.echo or hints.starts else 1, HintCol.WIDTH))
    told[:, HintCol.GUESS] = hints.guesses or 0
    if hints.lie:
        liars = list(hints.liars) or slice(None)
        inbound[liars, InboundCol.LIE] = Lie[hints.lie.upper()]
    pairs = hosts if hints.table_us > 0 else 1
    known = np.zeros((pairs, pairs, KnownCol.WIDTH), dtype=np.int64)
    return {"told": told, "inbound": inbound, "known": known}
