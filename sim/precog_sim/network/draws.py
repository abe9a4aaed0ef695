"""Random numbers of a run: for marks, losses, jitter, scores, and packets that choose their way.

Every port and every flow has a generator of its own, so that a draw depends on what happened there
alone.
"""

from precog_sim.network.jit import inlined
from precog_sim.network.layout import FlowCol
from precog_sim.network.net import Net, Table

__all__ = ["at_port", "drawn", "of_flow"]


@inlined
def drawn(states: Table, at: int) -> float:
    """A random number in [0, 1), xorshift64, of the generator whose state is at `at`."""
    x = states[at]
    x ^= x << 13
    x ^= (x >> 7) & ((1 << 57) - 1)
    x ^= x << 17
    states[at] = x
    return float(((x >> 11) & ((1 << 53) - 1)) * 2.0**-53)


@inlined
def at_port(net: Net, p: int) -> float:
    """A random number in [0, 1) for what port `p` draws: marks, losses, ways."""
    return drawn(net.dice, p)


@inlined
def of_flow(net: Net, f: int) -> float:
    """A random number in [0, 1) for what the sender of `f` draws: jitter, noise."""
    return drawn(net.flow[f], FlowCol.RNG)
