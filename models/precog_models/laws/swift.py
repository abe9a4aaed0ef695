"""Swift (Kumar et al., SIGCOMM 2020): a window that follows a target delay, scaled with the flows.

    target = T + queue + min(scaling / sqrt(cwnd), most)          cwnd in packets
    RTT < target:   W += ai packet b / W, or ai b below one packet, for b bytes
    RTT >= target:  once per RTT   W *= max(1 - beta (RTT - target) / RTT, 1 - max_cut)
    loss:           once per RTT   W *= 1 - max_cut
    window = W, rate = W / RTT

The publication's offset, which makes the scaling end at 0 for large windows, is part of `queue`; T
is the base RTT, so that hops need no term. Windows are bytes with 8 fraction bits.
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
_DELAY = Q(16, 8, signed=False)
_FLAG = Q(1, 0, signed=False)

PARAMETERS = (
    Parameter("queue", _DELAY, "us", 0.1, "target above the base RTT"),
    Parameter("scaling", _DELAY, "us", 0.2, "addition to the target for a window of one packet"),
    Parameter("most", _DELAY, "us", 2.0, "greatest addition to the target"),
    Parameter("ai", FACTOR, "", 0.05, "additive increase, packets per RTT"),
    Parameter("beta", FACTOR, "", 0.8, "weight of the decrease"),
    Parameter("max_cut", FACTOR, "", 0.5, "greatest decrease"),
)
STATE = (
    Field("w", _WINDOW, "window, bytes; 0: not started"),
    Field("cut_t", Fmt.TIME, "last decrease"),
    Field("was_cut", _FLAG, "1: there was one"),
    Field("rtt", Fmt.RTT, "last RTT"),
)
WINDOWED = True
PRESETS = {
    "precog": Preset("constants of a search on the thesis' incast", {}),
    "wide": Preset("the same search, a wider target", {"queue": 0.2, "scaling": 0.3, "ai": 0.1}),
}

_T_MIN = 16
_BYTES_MAX = (1 << 24) - 1


def _addition(p: Record, e: Record, w: int) -> int:
    """The target's addition for a window, ticks with 8 fraction bits."""
    packet = max(e.mtu, 1)
    packets = ((w * reciprocal(packet)) >> 4) >> (36 - zeros(packet))  # 16 fraction bits
    shift = zeros(clamp(packets, 1, 1 << 31)) >> 1
    return min((p.scaling * rsqrt(clamp(packets, 1, 1 << 31))) >> (24 - shift), p.most)


def _grown(p: Record, e: Record, w: int) -> int:
    """The window after an acknowledgement below the target."""
    acked = min(e.bytes, _BYTES_MAX) << 8
    packet = e.mtu << 8
    if w >= packet:
        return w + scale(scale(packet, p.ai), fraction(acked, w))
    return w + scale(acked, p.ai)


def _may_cut(s: Record, e: Record, rtt: int) -> bool:
    """An RTT has passed since the last decrease."""
    return s.was_cut == 0 or wrap(e.now - s.cut_t, 40) >= rtt


def _cut(s: Record, e: Record, w: int, fall: int) -> int:
    """The window after a decrease."""
    s.cut_t = e.now
    s.was_cut = 1
    return w - scale(w, fall)


def _bounded(s: Record, e: Record, w: int, rtt: int) -> tuple[int, int]:
    """Keep the window; rate and window of it."""
    t = max(e.base, _T_MIN)
    w = clamp(w, bytes_over(e.min_rate, t), bytes_over(e.max_rate, t))
    s.w = max(w, 1)
    rate = clamp(rate_over(s.w, max(rtt, _T_MIN)), e.min_rate, e.max_rate)
    return rate, max(s.w >> 8, 1)


def on_ack(p: Record, s: Record, e: Record) -> tuple[int, int]:
    """One acknowledgement."""
    if e.bytes == 0:
        return e.rate, e.window
    t = max(e.base, _T_MIN)
    w = s.w
    if w == 0:
        w = max(bytes_over(e.init_rate, t), 1)
    s.rtt = e.rtt
    late = ((e.rtt - t) << 8) - p.queue - _addition(p, e, w)
    if late < 0:
        w = _grown(p, e, w)
    elif _may_cut(s, e, e.rtt):
        fall = scale(p.beta, fraction(late, e.rtt << 8))
        w = _cut(s, e, w, min(fall, p.max_cut))
    rate, window = _bounded(s, e, w, e.rtt)
    return rate, window


def on_loss(p: Record, s: Record, e: Record) -> tuple[int, int]:
    """A NAK or a time-out."""
    if s.w == 0 or not _may_cut(s, e, s.rtt):
        return e.rate, e.window
    w = _cut(s, e, s.w, p.max_cut)
    rate, window = _bounded(s, e, w, s.rtt)
    return rate, window
