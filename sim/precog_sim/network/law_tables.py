"""The laws of a run as the kernel has them: their rows, and each flow's state."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from precog_sim.network.congestion import LawSetup, LinkFacts
from precog_sim.network.ecn import Ecn
from precog_sim.network.layout import NEVER, FlowCol, LawCol, PortCol, Telemetry, Window
from precog_sim.network.memory import LINE, lined
from precog_sim.network.program import EVENT_WORDS, word
from precog_sim.network.scenario import Scenario

__all__ = ["Laws"]

_EVENTS = {
    "on_start": LawCol.START,
    "on_ack": LawCol.ACK,
    "on_sample": LawCol.SAMPLE,
    "on_cnp": LawCol.CNP,
    "on_loss": LawCol.LOSS,
    "on_timer": LawCol.TIMER,
    "on_send": LawCol.SEND,
    "on_score": LawCol.SCORE,
}
_BPS = 8e9  # bit/s of a byte per ns
_Table = NDArray[np.int64]
_Reals = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Laws:
    """Laws of a run.

    Parameters
    ----------
    setups : sequence of LawSetup
    of : ndarray of int64, shape (flows,)
        Each flow's law.
    ecn : sequence of Ecn or None
        Marking of each law's packets.

    Raises
    ------
    ValueError
        They need telemetry of two kinds, or a law outside is not alone.
    """

    setups: Sequence[LawSetup]
    of: _Table
    ecn: Sequence[Ecn | None]

    def __post_init__(self) -> None:
        kinds = {one.telemetry for one in self.setups} - {Telemetry.NONE}
        if len(kinds) > 1:
            raise ValueError("laws of one run must need the same telemetry, not int and pint")
        if len(self.setups) > 1 and any(one.function for one in self.setups):
            raise ValueError("law that is decided outside must be the only one of a run")

    @property
    def telemetry(self) -> Telemetry:
        """What switches write into packets."""
        return Telemetry(max(one.telemetry for one in self.setups))

    @property
    def header(self) -> _Table:
        """Header bytes of each flow's data packets."""
        return np.array([one.header for one in self.setups], dtype=np.int64)[self.of]

    @property
    def ack_bytes(self) -> _Table:
        """Bytes of each flow's acknowledgements."""
        return np.array([one.ack_bytes for one in self.setups], dtype=np.int64)[self.of]

    def rows(self) -> tuple[_Table, _Reals]:
        """The tables of laws: `LawCol`, and bit/s of a rate of 1."""
        table = np.zeros((len(self.setups), LawCol.WIDTH), dtype=np.int64)
        reals = np.zeros((len(self.setups), 1))
        for k, one in enumerate(self.setups):
            table[k, LawCol.HEADER] = one.header
            table[k, LawCol.ACK_BYTES] = one.ack_bytes
            table[k, LawCol.WINDOW] = one.window
            table[k, LawCol.RETIME] = one.retime
            table[k, LawCol.CNP_PS] = round(one.cnp_us * 1e6)
            reals[k] = one.bit_rate
            if one.program is not None:
                table[k, LawCol.TELLS] = bool(one.program.settings["TELEMETRY"])
                table[k, LawCol.PARAMETERS] = one.parameters.ctypes.data
                for event, address in one.program.address.items():
                    table[k, _EVENTS[event]] = address
        return table, reals

    def marking(self, scenario: Scenario, port: _Table) -> _Table:
        """Queues [law, port x priority, 2] from which packets are marked, above which all are."""
        count = scenario.priorities.count
        table = np.full((len(self.setups), len(port), count, 2), NEVER, dtype=np.int64)
        host_mbps = scenario.topology.host_gbps * 1000
        for k, c, ecn in self._markings(scenario):
            for p in range(len(port)):
                at = ecn.at(port[p, PortCol.MBPS] / host_mbps)
                table[k, p, c] = at.min_bytes, at.max_bytes
        return table.reshape(len(self.setups), -1, 2)

    def mark_most(self, scenario: Scenario) -> _Reals:
        """Shares [law, priority] of packets that are marked just below the upper threshold."""
        table = np.zeros((len(self.setups), scenario.priorities.count))
        for k, c, ecn in self._markings(scenario):
            table[k, c] = ecn.probability
        return table

    def _markings(self, scenario: Scenario) -> Iterator[tuple[int, int, Ecn]]:
        """Marking by law and priority: a priority's own goes before a law's."""
        priorities = scenario.priorities
        for k, one in enumerate(self.ecn):
            for c, ecn in enumerate(priorities.ecn or (one,) * priorities.count):
                if ecn is not None:
                    yield k, c, ecn

    def states(self, scenario: Scenario, link: LinkFacts, rate: _Reals, top: _Reals) -> _Reals:
        """Each flow's state, with its start rate and a window of the path's, and its facts."""
        sizes = [one.program.state.itemsize // 8 for one in self.setups if one.program]
        words = EVENT_WORDS + max(sizes, default=0)
        state = lined((len(self.of), -(-words // LINE) * LINE), np.float64)
        whole = state.view(np.int64)
        scale = np.array([one.bit_rate for one in self.setups])[self.of]
        state[:, word("rate")] = rate / scale
        base_ns, hops = _paths(scenario)
        base_ns = np.maximum(base_ns + scenario.hearing.base_error_ns, 1.0)
        state[:, word("window")] = np.floor(rate / _BPS * base_ns)
        state[:, word("max_rate")] = top / scale
        state[:, word("min_rate")] = link.min_bps / scale
        state[:, word("base")] = base_ns
        state[:, word("network_base")] = link.base_rtt_ns
        whole[:, word("mtu")] = scenario.payload
        whole[:, word("header")] = self.header
        whole[:, word("hops")] = hops
        whole[:, word("flow")] = np.arange(len(self.of))
        return state

    def windows(self, link: LinkFacts, state: _Reals) -> _Table:
        """Bytes that each flow may have in flight at first; 0: any number."""
        kind = np.array([one.window for one in self.setups])[self.of]
        own = np.maximum(state[:, word("window")].astype(np.int64), 1)
        limited = (kind == Window.BDP) | (kind == Window.RATE)
        return np.where(kind == Window.OWN, own, np.where(limited, link.bdp, 0))

    def columns(self, state: _Reals, name: str) -> _Reals:
        """The table that a program keeps under `name`; NaN where flows have none."""
        width = 0
        parts = []
        for k, one in enumerate(self.setups):
            if one.program is not None and name in (one.program.state.names or ()):
                kind, offset = one.program.state.fields[name][:2]  # type: ignore[index]
                width = kind.itemsize // 8
                parts.append((self.of == k, EVENT_WORDS + offset // 8))
        found = np.full((len(self.of), width), np.nan)
        for mine, first in parts:
            found[mine] = state[mine, first : first + width]
        return found

    def give(self, flow: _Table) -> None:
        """Tell the flow table each flow's law."""
        flow[:, FlowCol.LAW] = self.of


def _paths(scenario: Scenario) -> tuple[_Reals, _Table]:
    """Base RTT in ns, and switches on the way, of each flow while all links are up."""
    topology = scenario.topology
    known: dict[tuple[int, int], float] = {}
    for flow in scenario.flows:
        ends = flow.src, flow.dst
        if ends not in known:
            known[ends] = topology.base_rtt_ps(*ends, scenario.payload) * 1e-3
    pairs = [(flow.src, flow.dst) for flow in scenario.flows]
    src, dst = np.array(pairs, dtype=np.int64).T
    return np.array([known[ends] for ends in pairs]), topology.routes.hops[src, dst] - 1
