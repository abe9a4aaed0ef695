"""Random numbers of a run: for marks, losses, jitter, scores, and packets that choose their way."""

from precog_sim.network.jit import inlined
from precog_sim.network.layout import Ctl
from precog_sim.network.net import Net, Table

__all__ = ["drawn", "uniform"]


@inlined
def drawn(ctl: Table, column: int) -> float:
    """A random number in [0, 1), xorshift64, of the generator in a column of ``ctl``."""
    x = ctl[column]
    x ^= x << 13
    x ^= (x >> 7) & ((1 << 57) - 1)
    x ^= x << 17
    ctl[column] = x
    return float(((x >> 11) & ((1 << 53) - 1)) * 2.0**-53)


@inlined
def uniform(net: Net) -> float:
    """A random number in [0, 1) for marks, losses and jitter."""
    return drawn(net.ctl, Ctl.RNG)
