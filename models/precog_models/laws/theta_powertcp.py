"""theta-PowerTCP (Addanki et al., NSDI 2022): the power of a path, from RTT and its gradient.

    once per RTT, with the time dt since the last time:
        G  = (dRTT / dt + 1) RTT / tau                    tau = tau_part * base RTT
        Gs = Gs + (G - Gs) min(dt / tau, 1)
        W  = gamma (W / Gs + beta) + (1 - gamma) W
    window = W, rate = W / tau

Windows are bytes with 8 fraction bits, powers have 16 and stay within 2**-6 and 2**8.
"""

from precog_spec.contract import Fmt

from .language import (
    FACTOR,
    Field,
    Parameter,
    Preset,
    Q,
    Record,
    clamp,
    fraction,
    reciprocal,
    scale,
    wrap,
    zeros,
)
from .library import bytes_over, rate_over

__all__ = ["PARAMETERS", "PRESETS", "STATE", "WINDOWED"]

_WINDOW = Q(24, 8, signed=False)
_POWER = Q(9, 16, signed=False)
_PSN = Q(24, 0, signed=False)

PARAMETERS = (
    Parameter("gamma", FACTOR, "", 0.7, "weight of the new window"),
    Parameter("beta", Q(16, 8, signed=False), "bytes", 50.0, "additive increase"),
    Parameter("tau_part", FACTOR, "", 1.02, "tau, in base RTTs"),
)
STATE = (
    Field("w", _WINDOW, "window, bytes; 0: not started"),
    Field("power", _POWER, "Gs"),
    Field("rtt", Fmt.RTT, "RTT of the last update"),
    Field("t", Fmt.TIME, "its time"),
    Field("reference", _PSN, "the round ends behind it"),
)
WINDOWED = True
PRESETS = {
    "precog": Preset("constants of a search on the thesis' incast", {}),
    "paper": Preset("Addanki et al., NSDI 2022: gamma 0.9", {"gamma": 0.9, "tau_part": 1.0}),
}

_T_MIN = 16
_HALF_PSN = 1 << 23
_UNIT = 1 << 16
_POWER_MIN = 1 << 10
_POWER_MAX = 1 << 24
_TIME_MOST = (1 << 24) - 1
_WINDOW_MAX = _WINDOW.max


def _ratio(part: int, whole: int) -> int:
    """`part` / `whole` with 16 fraction bits, at most 256, by the table of reciprocals."""
    return min((part * reciprocal(whole)) >> (32 - zeros(whole)), _POWER_MAX)


def _power(s: Record, e: Record, tau: int) -> int:
    """Gs with this round's RTT."""
    passed = clamp(wrap(e.now - s.t, 40), 1, _TIME_MOST)
    gradient = _ratio(max(e.rtt - s.rtt + passed, 0), passed)
    now = (gradient * _ratio(e.rtt, tau)) >> 16
    part = fraction(min(passed, tau), tau)
    return clamp(s.power + scale(now - s.power, part), _POWER_MIN, _POWER_MAX)


def on_ack(p: Record, s: Record, e: Record) -> tuple[int, int]:
    """One acknowledgement."""
    if e.bytes == 0:
        return e.rate, e.window
    t = max(e.base, _T_MIN)
    tau = clamp(scale(t, p.tau_part), _T_MIN, _TIME_MOST)
    if s.w == 0:
        s.w = max(bytes_over(e.init_rate, t), 1)
        s.power = _UNIT
        s.rtt = e.rtt
        s.t = e.now
        s.reference = e.next
    elif wrap(e.seq - s.reference, 24) > 0 and wrap(e.seq - s.reference, 24) < _HALF_PSN:
        power = _power(s, e, tau)
        wanted = ((s.w * reciprocal(power)) >> 4) >> (28 - zeros(power))
        wanted = min(wanted + p.beta, _WINDOW_MAX)
        w = s.w + scale(wanted - s.w, min(p.gamma, 1 << 24))
        s.w = max(clamp(w, bytes_over(e.min_rate, t), bytes_over(e.max_rate, t)), 1)
        s.power = power
        s.rtt = e.rtt
        s.t = e.now
        s.reference = e.next
    rate = clamp(rate_over(s.w, tau), e.min_rate, e.max_rate)
    return rate, max(s.w >> 8, 1)
