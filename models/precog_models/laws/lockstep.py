"""Lockstep: a phase-locked window on the RTTs of all acknowledgements; no marks, no telemetry.

    rho = W / BDP                                          BDP = link * base RTT T
    qs  = T min(q0 + s rho**-1/2, cap)                     queueing delay to aim at
    hi  = 2 qs + slack
    a round ends after >= 16 acknowledgements of packets sent in it, or when q = RTT - T > hi:
        qr = least q of its last 8..16 acknowledgements
        qr > hi                    W = min(W, W0 (T + qs) / (T + qr))
        q < 0.6 qs for >= 0.6      W += min(ramp BDP, W) (2 share - 1)    ramp .05, .15, .45, 1
        W0 = W of the round before: the window with which acknowledged packets were sent
    each acknowledgement of b bytes with q <= hi:  W += g min(b, W) max(qs - q, -floor) / T
    with q > hi, for this acknowledgement alone:   min(W, W0 (T + qs) / RTT)
    window = W, rate = W / RTT, RTT limited to T .. T + stretch

Pacing by the last RTT is what locks flows to each other's gaps: a packet that met a queue makes its
successors later. Windows have 8 fraction bits; q0, s and cap are parts of T.
"""

from .language import (
    FACTOR,
    Field,
    Fmt,
    Parameter,
    Preset,
    Q,
    Record,
    clamp,
    fraction,
    reciprocal,
    rsqrt,
    scale,
    wrap,
    zeros,
)
from .library import bytes_over, rate_over

__all__ = ["PARAMETERS", "PRESETS", "STATE", "WINDOWED"]

_WINDOW = Q(24, 8, signed=False)
_SMALL = Q(16, 8, signed=False)
_PSN = Q(24, 0, signed=False)
_COUNT = Q(8, 0, signed=False)
_LEVEL = Q(2, 0, signed=False)
_REFERENCE_US = 4.177  # base RTT of the network in which q0, s and cap were found

PARAMETERS = (
    Parameter("g", FACTOR, "", 0.3, "gain of the fine control"),
    Parameter("q0", Q(0, 24), "", 0.0, "queueing delay to aim at, part of T"),
    Parameter("s", Q(0, 24, signed=False), "", 0.034 / _REFERENCE_US, "... for rho = 1, part of T"),
    Parameter("cap", FACTOR, "", 1.0 / _REFERENCE_US, "... at most, part of T"),
    Parameter("slack", _SMALL, "us", 0.4, "queueing delay above 2 qs that is too much"),
    Parameter("floor", _SMALL, "us", 0.3, "greatest excess that the fine control hears"),
    Parameter("stretch", Fmt.RTT, "us", 1.0, "greatest queueing delay in the pacing rate"),
)
STATE = (
    Field("w", _WINDOW, "window, bytes; 0: not started"),
    Field("w0", _WINDOW, "window of the round before the last"),
    Field("w1", _WINDOW, "window of the last round"),
    Field("reference", _PSN, "the round ends behind it"),
    Field("count", _COUNT, "acknowledgements of the round"),
    Field("idle", _COUNT, "those that met less than 0.6 qs"),
    Field("level", _LEVEL, "rounds in a row that found the link idle"),
    Field("current", Fmt.RTT, "least RTT of the present block of 8"),
    Field("previous", Fmt.RTT, "least RTT of the block before"),
    Field("block", Q(3, 0, signed=False), "acknowledgements of the present block"),
)
WINDOWED = True
PRESETS = {
    "F": Preset("mean and tail of the RTT", {}),
    "G": Preset("fairness", {"g": 0.5, "q0": -0.02 / _REFERENCE_US, "s": 0.042 / _REFERENCE_US}),
}

_ONE = FACTOR.one
_NONE = Fmt.RTT.max
_T_MIN = 16
_RHO_MIN = 1678  # 1e-4
_ROUND = 16
_COUNT_MAX = _COUNT.max
_LEVEL_MAX = _LEVEL.max
_RAMP = (838861, 2516582, 7549747, _ONE)  # .05, .15, .45, 1
_HALF_PSN = 1 << 23
_NEAR = 1 << 25
_BYTES_MAX = (1 << 24) - 1


def _aim(p: Record, w: int, bdp: int, t: int) -> int:
    """qs, ticks with 8 fraction bits."""
    rho = max(fraction(w, bdp), _RHO_MIN)
    part = (p.s * rsqrt(rho)) >> (20 - (zeros(rho) >> 1))
    return scale(t << 8, clamp(p.q0 + part, 0, p.cap))


def _begin(s: Record) -> None:
    """A new round."""
    s.count = 0
    s.idle = 0
    s.block = 0
    s.current = _NONE
    s.previous = _NONE


def _note(s: Record, e: Record, idle: bool) -> None:
    """Count an acknowledgement."""
    if idle:
        s.idle = min(s.idle + 1, _COUNT_MAX)
    if s.block == 0:
        s.previous = s.current
        s.current = e.rtt
    else:
        s.current = min(s.current, e.rtt)
    s.block = wrap(s.block + 1, 3)
    s.count = min(s.count + 1, _COUNT_MAX)


def _ended(s: Record, w: int, bdp: int, t: int, qs: int, hi: int) -> int:
    """The window at a round's end."""
    least = min(s.current, s.previous)
    if (least - t) << 8 > hi:
        s.level = 0
        return min(w, scale(s.w0, fraction((t << 8) + qs, least << 8)))
    if 5 * s.idle >= 3 * s.count:
        ramp = _RAMP[s.level]
        s.level = min(s.level + 1, _LEVEL_MAX)
        share = fraction(max(2 * s.idle - s.count, 0), s.count)
        return min(w + scale(min(scale(bdp, ramp), w), share), bdp)
    s.level = 0
    return min(w, bdp)


def _fine(p: Record, e: Record, w: int, t: int, gap: int) -> int:
    """Fine control: what to add to the window."""
    y = reciprocal(t)
    part = (clamp(gap, -p.floor, _NEAR) * y) >> (32 - zeros(t))
    step = min(min(e.bytes, _BYTES_MAX) << 8, w)
    return scale(scale(step, clamp(part, -_ONE, _ONE)), p.g)


def _paced(p: Record, e: Record, w: int, t: int) -> int:
    """Rate of a window."""
    time = clamp(e.rtt, t, t + p.stretch)
    return clamp(rate_over(w, time), e.min_rate, e.max_rate)


def on_ack(p: Record, s: Record, e: Record) -> tuple[int, int]:
    """One acknowledgement."""
    if e.bytes == 0:
        return e.rate, e.window
    t = max(e.base, _T_MIN)
    bdp = max(bytes_over(e.max_rate, t), 1)
    least = bytes_over(e.min_rate, t)
    if s.w == 0:
        first = max(bytes_over(e.init_rate, t), 1)
        s.w = first
        s.w0 = first
        s.w1 = first
        s.reference = wrap(e.seq - 1, 24)
        _begin(s)
    q = (e.rtt - t) << 8
    qs = _aim(p, s.w, bdp, t)
    hi = 2 * qs + p.slack
    _note(s, e, 5 * q < 3 * qs)
    w = s.w
    ahead = wrap(e.seq - s.reference, 24)
    if ahead > 0 and ahead < _HALF_PSN and (s.count >= _ROUND or q > hi):
        w = _ended(s, w, bdp, t, qs, hi)
        s.w0 = s.w1
        s.w1 = w
        s.reference = e.next
        _begin(s)
    if q <= hi:
        w = w + _fine(p, e, w, t, qs - q)
    w = clamp(w, least, bdp)
    s.w = max(w, 1)
    held = w
    if q > hi:
        held = min(w, max(scale(s.w0, fraction((t << 8) + qs, e.rtt << 8)), least))
    return _paced(p, e, held, t), max(held >> 8, 1)
