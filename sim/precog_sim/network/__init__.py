"""Packet-level network simulator."""

from precog_sim.network.congestion import (
    Dcqcn,
    Dctcp,
    Fixed,
    Hpcc,
    Loop,
    Pid,
    PredPid,
    Timely,
)
from precog_sim.network.result import Record, Result, SimulationError
from precog_sim.network.run import run
from precog_sim.network.scenario import INCASTS, Buffers, Ecn, Flow, Recovery, Scenario, incast

__all__ = [
    "INCASTS",
    "Buffers",
    "Dcqcn",
    "Dctcp",
    "Ecn",
    "Fixed",
    "Flow",
    "Hpcc",
    "Loop",
    "Pid",
    "PredPid",
    "Record",
    "Recovery",
    "Result",
    "Scenario",
    "SimulationError",
    "Timely",
    "incast",
    "run",
]
