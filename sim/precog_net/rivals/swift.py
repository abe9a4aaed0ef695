"""Swift: AIMD of a window towards a delay target (SIGCOMM 2020, algorithm 1).

The target grows with the hops of the path and, for small windows, with their number of flows:
base + hops * hop + clip(alpha / sqrt(w) + beta, 0, fs_range), w in packets (section 3.2). Below the
target the window rises by `ai` packets a round trip; above it falls by the excess, at most once a
round trip. A window below one packet is paced: a packet each rtt / w (section 3.3).

Defaults: the public simulator's, Broadcom/csg-htsim commit 841d9e7 ``sim/swift.cpp``, for base RTTs
above 10 us.
"""

from math import sqrt

PARAMETERS = (
    ("base_us", "float", "us", 20.0, "target without scaling; 0: the path's base RTT"),
    ("queue_us", "float", "us", 0.0, "added to it"),
    ("hop_us", "float", "us", 3.053, "more for each hop: csg-htsim's 20 / 6.55"),
    ("fs_range_us", "float", "us", 100.0, "most that flow scaling adds: csg-htsim's 5 x base"),
    ("fs_min", "float", "packets", 0.1, "window with the whole of that, or less"),
    ("fs_max", "float", "packets", 100.0, "window with nothing of it, or more"),
    ("ai", "float", "packets", 1.0, "additive increase a round trip"),
    ("beta", "float", "", 0.8, "decrease for the excess of the delay"),
    ("max_cut", "float", "", 0.5, "largest decrease"),
    ("min_window", "float", "packets", 0.1, "smallest window"),
    ("max_window", "float", "packets", 1000.0, "largest window"),
    ("paced", "int", "", 0, "1: every window is paced, not only those below a packet"),
    ("give_up", "int", "", 5, "time-outs in a row after which the window is the smallest"),
)

PRESETS = {
    "scaled": (
        "the path's own base RTT and little more, for networks of a few microseconds; paced",
        {
            "base_us": 0.0,
            "queue_us": 0.1,
            "hop_us": 0.0,
            "fs_range_us": 0.2,
            "ai": 0.05,
            "paced": 1,
        },
    ),
}

STATE = (
    ("size", "float", "window, bytes; what is in force lets packets start that fit in it whole"),
    ("cut_at", "float", "time of the last decrease"),
    ("timeouts", "int", "in a row"),
    ("rtt", "float", "of the latest acknowledgement; the base RTT before the first"),
    ("alpha", "float", "of flow scaling, ns"),
    ("offset", "float", "of flow scaling, ns"),
)

WINDOWED = True


def target(p, s, e):
    """End-to-end delay that the law aims at, ns."""
    scaling = s.alpha / sqrt(max(s.size / e.mtu, 1e-6)) + s.offset
    scaling = min(max(scaling, 0.0), 1e3 * p.fs_range_us)
    base = 1e3 * p.base_us if p.base_us > 0 else e.base
    return base + 1e3 * (p.queue_us + e.hops * p.hop_us) + scaling


def bounded(p, s, e):
    """Bound the window; the pace, and what may be in flight."""
    s.size = min(max(s.size, p.min_window * e.mtu), p.max_window * e.mtu)
    rate = e.max_rate
    if s.size < e.mtu or p.paced:
        paced = s.size * (1 + e.header / e.mtu) / max(s.rtt, 1.0)
        rate = min(max(paced, e.min_rate), e.max_rate)
    return rate, max(s.size - e.mtu + 1, 1.0)


def may_cut(s, e):
    """Whether a round trip has passed since the last decrease."""
    return e.now - s.cut_at >= s.rtt


def on_start(p, s, e):
    """A new flow has the window of its start rate over a base RTT."""
    s.alpha = 1e3 * p.fs_range_us / (1 / sqrt(p.fs_min) - 1 / sqrt(p.fs_max))
    s.offset = -s.alpha / sqrt(p.fs_max)
    s.size = e.rate * e.base
    s.cut_at = -1e18
    s.rtt = e.base
    return e.rate, bounded(p, s, e)[1]


def on_ack(p, s, e):
    """Additive increase below the target, multiplicative decrease above it."""
    s.timeouts = 0
    s.rtt = e.rtt
    goal = target(p, s, e)
    if e.rtt < goal:
        s.size += p.ai * e.bytes * (e.mtu / s.size if s.size >= e.mtu else 1.0)
    elif may_cut(s, e):
        s.size *= max(1 - p.beta * (e.rtt - goal) / e.rtt, 1 - p.max_cut)
        s.cut_at = e.now
    return bounded(p, s, e)


def on_loss(p, s, e):
    """The largest decrease; the smallest window after time-outs in a row."""
    s.timeouts = s.timeouts + 1 if e.timeout else 0
    if s.timeouts >= p.give_up:
        s.size = p.min_window * e.mtu
    elif may_cut(s, e):
        s.size *= 1 - p.max_cut
        s.cut_at = e.now
    return bounded(p, s, e)
