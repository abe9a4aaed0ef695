"""The buffer rules of source 004, checked for every scenario before it runs.

1. t_PFC <= (B - 8 n t_flight) / (8 n): eight priorities on n ports must all fit with their
   headroom t_flight (22.4 KB per port and priority).
2. The headroom holds what is in flight after a PAUSE: both ways of the cable and the packets
   already begun at either end.
3. ECN fires before PFC: the egress queue with the largest K_min of a switch, all of it from the
   ingress port with the smallest t_PFC, is below that when it reaches K_min.
4. RESUME comes two MTUs below t_PFC.
"""

from dataclasses import dataclass

from precog_sim.network.ecn import Ecn
from precog_sim.network.scenario import Scenario

__all__ = [
    "PRIORITIES",
    "T_FLIGHT",
    "BufferRule",
    "check_buffer_rules",
    "headroom_bytes",
    "static_threshold",
]

PRIORITIES = 8
T_FLIGHT = 22_400
_MOST_HEADER = 100  # bytes; no plug-in's headers are longer


@dataclass(frozen=True)
class BufferRule:
    """Outcome of one rule.

    Attributes
    ----------
    rule : str
        Short name.
    ok : bool
    fatal : bool
        A run that breaks it would lose packets or never be slowed by ECN: refused.
    message : str
        The figures, and what to change.
    """

    rule: str
    ok: bool
    fatal: bool
    message: str


def static_threshold(total: int, ports: int) -> int:
    """Largest t_PFC of rule 1, in bytes (negative: no room even for the headroom)."""
    return (total - PRIORITIES * ports * T_FLIGHT) // (PRIORITIES * ports)


def headroom_bytes(scenario: Scenario, gbps: float, delay_ps: int) -> int:
    """Headroom of a port: as configured, or 3 x rate x delay; on short cables a little more."""
    cable = gbps * delay_ps / 8000
    return scenario.buffers.headroom or int(
        max(3 * cable, 2 * cable + 4 * (scenario.payload + _MOST_HEADER))
    )


def check_buffer_rules(scenario: Scenario, ecn: Ecn | None, wire: int) -> tuple[BufferRule, ...]:
    """All rules for all switches.

    Parameters
    ----------
    scenario : Scenario
    ecn : Ecn or None
        The marking that will be in force.
    wire : int
        Bytes of a full data packet on the wire.
    """
    buffers = scenario.buffers
    if buffers.pfc == "off":
        return (
            BufferRule(
                "pfc", True, False, "PFC is off: a full buffer drops packets, recovery repeats them"
            ),
        )
    rules: list[BufferRule] = []
    topology = scenario.topology
    for switch in range(topology.hosts, topology.hosts + topology.switches):
        links = [link for link in topology.links if switch in (link.a, link.b)]
        ports = len(links)
        # each priority has its own headroom and reserve
        count = scenario.priorities.count
        headroom = count * sum(headroom_bytes(scenario, k.gbps, k.delay_ps) for k in links)
        bound = static_threshold(buffers.total, ports)
        free = buffers.total - headroom - count * ports * buffers.reserve
        ratios = [link.gbps / topology.host_gbps for link in links]
        marks = [e.at(max(ratios)).min_bytes for e in scenario.priorities.ecn or (ecn,) if e]
        mark = max(marks, default=0)
        if buffers.pfc == "static":
            threshold = buffers.pfc_bytes or bound
            ok = 0 < threshold <= bound
            rules.append(
                BufferRule(
                    "t_pfc",
                    ok,
                    True,
                    f"switch {switch}: t_PFC {threshold} B, at most (B - 8 n t_flight) / (8 n) = "
                    f"{bound} B: lower pfc_bytes or enlarge buffers.total",
                )
            )
            at_mark = threshold
        else:
            shift = buffers.shift_at(min(ratios))
            threshold = free >> shift
            at_mark = max(free - mark, 0) >> shift
            rules.append(
                BufferRule(
                    "t_pfc",
                    threshold > 0,
                    True,
                    f"switch {switch}: {free} B are left to share after headroom and reserve: "
                    "enlarge buffers.total",
                )
            )
        for link in links:
            # bits of one cable delay are gbps * delay_ps / 1000
            flight = 2 * link.gbps * link.delay_ps / 8000 + 2 * wire
            have = headroom_bytes(scenario, link.gbps, link.delay_ps)
            if have < flight:
                rules.append(
                    BufferRule(
                        "t_flight",
                        False,
                        True,
                        f"switch {switch}: headroom {have} B holds less than the {flight:.0f} B in "
                        f"flight on link {link.a}-{link.b}: raise buffers.headroom",
                    )
                )
                break
        if marks:
            rules.append(
                BufferRule(
                    "ecn_before_pfc",
                    mark < at_mark,
                    True,
                    f"switch {switch}: ECN marks from {mark} B, PFC pauses at "
                    f"{at_mark} B: lower ecn.min_bytes, or raise the PFC threshold",
                )
            )
        resume = buffers.resume_bytes or 2 * wire
        rules.append(
            BufferRule(
                "resume",
                2 * wire <= resume < threshold,
                False,
                f"switch {switch}: RESUME is {resume} B below t_PFC, two MTUs are {2 * wire} B: "
                "set buffers.resume_bytes",
            )
        )
    return tuple(rules)
