"""What a run refuses before it begins."""

import numpy as np

from precog_models.rate.reference import hpcc
from precog_sim.network.buffer_rules import BufferRule
from precog_sim.network.scenario import Scenario

__all__ = ["MOST_THREADS", "check_hops", "check_threads", "check_timing", "refuse_broken"]

MOST_THREADS = 64  #: that share a run


def refuse_broken(rules: tuple[BufferRule, ...]) -> None:
    """Raise for the first rule whose breach is fatal."""
    broken = [rule.message for rule in rules if rule.fatal and not rule.ok]
    if broken:
        raise ValueError(
            f"buffers must satisfy the rules of PFC and ECN ({len(broken)} broken): {broken[0]}"
        )


def check_hops(scenario: Scenario) -> None:
    """Telemetry has room for every switch on a flow's way, whatever links are down."""
    src, dst = (np.array([getattr(flow, end) for flow in scenario.flows]) for end in ("src", "dst"))
    for state in scenario.link_states:
        switches = scenario.topology.routes_without(state.down).hops[src, dst] - 1
        f = int(switches.argmax())
        if switches[f] > hpcc.HOPS:
            raise ValueError(
                f"flow {f} from host {src[f]} to host {dst[f]} must cross at most {hpcc.HOPS} "
                f"switches under a law with telemetry, not {switches[f]}"
            )


def check_timing(timing: str) -> None:
    """Refuse a timing that `run` does not have.

    Raises
    ------
    ValueError
        It is neither exact nor ns3.
    """
    if timing not in ("exact", "ns3"):
        raise ValueError(f"timing must be exact or ns3, not {timing!r}")


def check_threads(threads: int) -> None:
    """Refuse a number of threads that `run` cannot have.

    Raises
    ------
    ValueError
        It is not in 1..64.
    """
    if not 1 <= threads <= MOST_THREADS:
        raise ValueError(f"threads must be in 1..{MOST_THREADS}, not {threads!r}")
