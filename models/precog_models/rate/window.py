"""WIN: a limit on outstanding bytes of one bandwidth-delay product at the current rate."""

from precog_spec.contract import Fmt

from ..jit import njit

__all__ = ["window_bytes"]

_FRAC = Fmt.RATE.frac_bits


@njit
def window_bytes(rate: int, base: int, mtu: int) -> int:
    """Bytes that may be outstanding: rate * base RTT (floor), at least one MTU.

    Parameters
    ----------
    rate : int
        RATE's format, bytes per tick.
    base : int
        Base RTT, ticks.
    mtu : int
        Bytes of one packet, 16 bits.
    """
    return max((rate * base) >> _FRAC, mtu)
