"""From the LSTM's output to a round-trip time: RTTpred = (1 + out) * S, thesis (12)."""

from precog_spec.contract import Fmt

from ..jit import njit

__all__ = ["rtt_pred"]

_ONE = Fmt.OUT.one
_FRAC = Fmt.OUT.frac_bits
_MAX = Fmt.SRTT.max


@njit
def rtt_pred(srtt: int, out: int) -> int:
    """Predicted RTT in SRTT's format (floor), limited to it; `out` in OUT's format.

    An output below -1 gives 0.
    """
    return min((max(_ONE + out, 0) * srtt) >> _FRAC, _MAX)
