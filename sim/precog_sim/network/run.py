"""Run one scenario under one congestion control."""

import threading
import time

import numpy as np
from numpy.typing import NDArray

from precog_models.frames import in_one_piece
from precog_sim.network.checks import check_threads, check_timing
from precog_sim.network.congestion import CongestionControl
from precog_sim.network.crew import Crew, Status, work
from precog_sim.network.net import Net
from precog_sim.network.outcome import outcome
from precog_sim.network.partition_tables import crew_table
from precog_sim.network.prepare import prepare
from precog_sim.network.result import Record, Result
from precog_sim.network.scenario import Scenario
from precog_sim.network.tables import route_tables, way_table

__all__ = ["run"]

_Table = NDArray[np.int64]


def _together(net: Net, crew: _Table) -> None:
    """Let all threads work till the run ends or routes change."""
    others = [
        threading.Thread(target=work, args=(net, crew, k))
        for k in range(1, int(crew[Crew.THREADS]))
    ]
    for one in others:
        one.start()
    in_one_piece(work, net, crew, 0)  # the first call compiles it
    for one in others:
        one.join()


def run(
    scenario: Scenario,
    cc: CongestionControl,
    *,
    timing: str = "exact",
    seed: int = 0,
    record: Record | None = None,
    pool: int = 0,
    ecmp: str = "own",
    threads: int = 1,
) -> Result:
    """Simulate `scenario` with every flow under `cc`.

    Parameters
    ----------
    scenario : Scenario
    cc : CongestionControl
    timing : str
        ``"exact"``: integer picoseconds throughout. ``"ns3"``: transmission times, pacing gaps and
        start times are cut to whole nanoseconds, rates to whole bit/s, and equal times are served
        in ns-3's order of scheduling, so that ns-3's runs are reproduced.
    seed : int
        Of the jitter of starts and RTTs, of messages, of random marking and of injected loss.
    record : Record, optional
        What to keep.
    pool : int
        Packets that the pool holds; 0: sized to the scenario.
    ecmp : str
        How packets choose among equal paths: ``"own"``, or ``"ns3"``, the HPCC authors' hash, in
        ns3 timing only (`ecmp`).
    threads : int
        That share the run, where the network is divided (`partition`); one does the others. The
        result is the same for any number.

    Returns
    -------
    Result

    Raises
    ------
    ValueError
        Unknown timing or hash, threads not in 1..64, buffers that break a rule of source 004, not
        one start rate per flow, packets that are sprayed where all of a flow must take one way, or
        more switches on a way than telemetry has room for.
    SimulationError
        The packet pool overflowed, or the decision function failed.
    """
    check_timing(timing)
    check_threads(threads)
    if ecmp not in ("own", "ns3"):
        raise ValueError(f"ecmp must be own or ns3, not {ecmp!r}")
    if ecmp == "ns3" and timing != "ns3":
        raise ValueError(f"ecmp ns3 must have timing ns3, not {timing!r}")
    if ecmp == "ns3" and scenario.spray != "none":
        raise ValueError(f"ecmp ns3 must have spray none, not {scenario.spray!r}")
    made = prepare(
        scenario,
        cc,
        ns3=timing == "ns3",
        seed=seed,
        record=record or Record(),
        pool=pool,
        ns3_ecmp=ecmp == "ns3",
    )
    net = made.net
    crew = crew_table(made.split, min(threads, made.split.count))
    began = time.process_time()
    _together(net, crew)
    for links in scenario.link_states[1:]:
        if crew[Crew.STATUS] != Status.ROUTES:
            break
        topology = scenario.topology
        routes = topology.routes_without(links.down)
        net = net._replace(**route_tables(topology, routes), ways=way_table(scenario))
        crew[Crew.STATUS] = Status.RUN
        _together(net, crew)
    return outcome(made, time.process_time() - began)
