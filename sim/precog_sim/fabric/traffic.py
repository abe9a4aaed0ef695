"""The networks' flows, and ns-3's figures of two of them.

The flows are the input files of the ns-3 runs whose figures ``ns3.json`` holds: 3 ms of Poisson
arrivals at 30 % load of 320 hosts' 100 Gb/s, sizes drawn from the distributions that the HPCC
authors publish with their simulator (WebSearch of DCTCP, SIGCOMM 2010; FB_Hadoop of Roy et al.,
SIGCOMM 2015), and, at 2 % load, incasts of 60 flows of 500 KB to one host. Columns: start in ns,
source, destination, bytes, and 1 where the flow is of an incast.

The third network is held out: ns-3 was not run on its flows here, so that no part of the
simulator can have been fitted to it. Its sizes are AliStorage2019's, of the same authors; 1 ms was
drawn by ``storage:0.3+incast:60x500k:0.02`` with seed 1729 (`precog_net.workloads`).
"""

import csv
import gzip
import json
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from precog_sim.network import (
    CongestionControl,
    Dcqcn,
    Dctcp,
    Flow,
    Hpcc,
    Recovery,
    Scenario,
    Timely,
    fat_tree,
)

__all__ = ["BIN_WITHIN", "LAWS", "NETWORKS", "Network", "ns3_figures"]

LAWS: dict[str, CongestionControl] = {
    "hpcc": Hpcc(),
    "dctcp": Dctcp(),
    "dcqcn": Dcqcn(),
    "timely": Timely(),
}
#: How far a size's 95th percentile may be from ns-3's, relative.
BIN_WITHIN = {"hpcc": 0.05, "dctcp": 0.05, "dcqcn": 0.15, "timely": 0.15}
_HORIZON_US = 50_000.0  # ns-3's runs ended then, had they not been done long before
_NORMAL_PORT, _INCAST_PORT = 100, 200  # destination ports: ns-3's hash sees them
_HERE = files("precog_sim.fabric")


@dataclass(frozen=True)
class Network:
    """One file of flows over the fat tree.

    Parameters
    ----------
    name : str
        Of the file, and in ``ns3.json``.
    title : str
        For people.
    within : float
        How far the 95th percentile of normal flows' slowdowns may be from ns-3's, relative.
    """

    name: str
    title: str
    within: float

    def load(self) -> tuple[Scenario, NDArray[np.bool_]]:
        """The scenario, and which of its flows are normal ones, not of incasts."""
        with (_HERE / f"{self.name}.csv.gz").open("rb") as raw, gzip.open(raw, "rt") as text:
            rows = [tuple(map(int, row.values())) for row in csv.DictReader(text)]
        flows = tuple(
            Flow(
                *(src, dst, size),
                start_ps=start_ns * 1000,
                dst_port=_INCAST_PORT if of_incast else _NORMAL_PORT,
            )
            for start_ns, src, dst, size, of_incast in rows
        )
        scenario = Scenario(
            self.name,
            fat_tree(),
            flows,
            recovery=Recovery(timeout_us=0.0),  # ns-3 has no retransmission timer
            horizon_us=_HORIZON_US,
        )
        return scenario, np.array([row[-1] == 0 for row in rows])


NETWORKS = {
    network.name: network
    for network in (
        Network("websearch", "WebSearch", 0.03),
        Network("hadoop", "FB_Hadoop", 0.04),
        Network("storage", "AliStorage", 0.05),
    )
}


def ns3_figures() -> dict[str, dict[str, dict[str, list[float]]]]:
    """ns-3's figures: network, law, and of each size and of all: n, mean, p50, p95, p99."""
    found: Any = json.loads((_HERE / "ns3.json").read_text())
    return dict(found)
