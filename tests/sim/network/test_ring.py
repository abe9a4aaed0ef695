"""Turns of a host's flows in ns3 timing: those of ns-3's array, whatever ends and begins."""

from dataclasses import dataclass, field

import numpy as np
from tests.sim.network.blank import called

from precog_sim.network import Fixed, Flow, Record, Scenario, star
from precog_sim.network.host import pick
from precog_sim.network.layout import FlowCol
from precog_sim.network.net import Net
from precog_sim.network.prepare import prepare
from precog_sim.network.ring import add_flow, note_turn

_FLOWS = 500
_NEVER = 1 << 62


@called
def _add(net: Net, f: int) -> None:
    add_flow(net, f)


@called
def _pick(net: Net, q: int, now: int) -> tuple[int, int]:
    f, due = pick(net, q, now)
    if f >= 0:
        note_turn(net, q, f)
    return f, due


@dataclass
class _Array:
    """`RdmaEgressQueue` of the HPCC authors' code, and the search for the next time to look."""

    net: Net
    flows: list[int] = field(default_factory=list)
    turn: int = 0

    def pick(self, now: int) -> tuple[int, int]:
        flow = self.net.flow
        chosen, least = -1, _NEVER
        for k in range(1, len(self.flows) + 1):
            place = (k + self.turn) % len(self.flows)
            f = self.flows[place]
            if flow[f, FlowCol.NEXT] < flow[f, FlowCol.OFFERED]:
                if flow[f, FlowCol.AVAILABLE] <= now:
                    chosen = f
                    break
            elif flow[f, FlowCol.END] >= 0:
                least = min(least, place)
        self.flows = [f for n, f in enumerate(self.flows) if n < least or flow[f, FlowCol.END] < 0]
        if chosen >= 0:
            self.turn = self.flows.index(chosen)
            return chosen, 0
        left = [f for f in self.flows if flow[f, FlowCol.NEXT] < flow[f, FlowCol.OFFERED]]
        return -1, min((int(flow[f, FlowCol.AVAILABLE]) for f in left), default=_NEVER)


def _host() -> Net:
    """The tables of a host with many flows to another one."""
    flows = tuple(Flow(0, 1, 1000 * (1 + n % 8)) for n in range(_FLOWS))
    scenario = Scenario("ring", star(2), flows)
    options = {"seed": 0, "record": Record(), "pool": 0, "ns3_ecmp": False}
    return prepare(scenario, Fixed(), ns3=True, **options).net  # type: ignore[arg-type]


def test_turns_are_those_of_ns3_s_array(seed: int) -> None:
    rng = np.random.default_rng(seed)
    net = _host()
    array = _Array(net)
    begun, chosen, lost = 0, 0, 0
    for now in range(5000):
        if begun < _FLOWS and rng.random() < 0.12:
            net.flow[begun, FlowCol.AVAILABLE] = now
            _add(net, begun)
            array.flows.append(begun)
            begun += 1
        for f in array.flows:
            sent = net.flow[f, FlowCol.NEXT] == net.flow[f, FlowCol.OFFERED]
            if sent and net.flow[f, FlowCol.END] < 0 and rng.random() < 0.2:
                net.flow[f, FlowCol.END] = now
        before = len(array.flows)
        expected = array.pick(now)
        f, due = _pick(net, int(net.flow[0, FlowCol.PORT]), now)
        assert (f, due if f < 0 else 0) == expected, f"at {now}, flows {array.flows}"
        lost += len(array.flows) < before
        if f >= 0:
            chosen += 1
            net.flow[f, FlowCol.NEXT] += 1000
            net.flow[f, FlowCol.AVAILABLE] = now + rng.integers(0, 20)
    assert chosen > 1500
    assert lost > 100
