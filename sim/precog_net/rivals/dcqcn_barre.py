"""DCQCN with the constants that Barre's authors found for it (Peng et al., USENIX ATC 2025).

    on a CNP, at most one every 2 us:  R_T = R unless R has not risen since the last cut
                                       R = R max(1 - alpha / 2, least)
    every 1 us:                        alpha = (1 - g) alpha, + g if a CNP has come
    every T, and every B bytes:        R_T += ai, or hai when both counts are above F; but not in
                                       the first F rounds; R = (R + R_T) / 2

Section 6.3 and table 2 of the paper: notifications every 0 to 2 us instead of 4, each of which cuts
(a check every 1 to 4 us), but to no less than 80 to 98 % of the rate instead of half; T of 20 to
100 us instead of 300, more for larger incasts; an increase of 8 to 20 Mb/s instead of 5, for links
of 400 Gb/s. The defaults here are within those ranges, the presets at their ends. The paper says
nothing of the other constants: alpha's period, g, F, B, hai are the vendor's defaults, and switches
mark as DCQCN's authors have it.
"""

PARAMETERS = (
    ("least", "float", "", 0.9, "a cut leaves this share of the rate at least (rpg_min_dec_fac)"),
    ("ai_mbps", "float", "Mb/s", 14.0, "additive increase of the target"),
    ("hai_mbps", "float", "Mb/s", 50.0, "hyper increase"),
    ("rate_us", "float", "us", 50.0, "period T of the rate timer (rpg_time_reset)"),
    ("byte_count", "int", "bytes", 32767, "bytes B of a step (rpg_byte_reset)"),
    ("recovery", "int", "", 1, "rounds F of fast recovery (rpg_threshold)"),
    ("alpha_us", "float", "us", 1.0, "period of alpha's update (dce_tcp_rtt)"),
    ("g", "float", "", 1 / 256, "gain of alpha"),
)
PRESETS = {
    "quick": (
        "table 2: largest cut, shortest interval, largest increase",
        {"least": 0.8, "rate_us": 20.0, "ai_mbps": 20.0},
    ),
    "gentle": (
        "table 2: smallest cut, longest interval, smallest increase",
        {"least": 0.98, "rate_us": 100.0, "ai_mbps": 8.0},
    ),
}

STATE = (
    ("alpha", "float", "estimate of congestion"),
    ("target", "float", "R_T"),
    ("heard", "int", "1: a notification since alpha's last update"),
    ("timer_stage", "int", "steps of the timer since the last cut"),
    ("byte_stage", "int", "steps of the byte counter"),
    ("sent", "int", "bytes since its last step"),
    ("started", "int", "1: a notification has come"),
)

CNP_US = 2.0
_ALPHA, _RATE = 0, 1
_BYTES_PER_NS = 8e3  # Mb/s in one


def on_start(p, s, e):
    """Alpha is 1; nothing moves before the first notification."""
    s.alpha = 1.0
    s.target = e.rate
    return e.rate


def on_cnp(p, s, e):
    """Cut."""
    if s.timer_stage > 0 or s.byte_stage > 0 or not s.started:
        s.target = e.rate
    s.timer_stage = 0
    s.byte_stage = 0
    s.sent = 0
    s.heard = 1
    if not s.started:
        s.started = 1
        e.due[_ALPHA] = e.now + 1e3 * p.alpha_us
    e.due[_RATE] = e.now + 1e3 * p.rate_us
    return max(e.rate * max(1 - s.alpha / 2, p.least), e.min_rate)


def risen(p, s, e):
    """A step of recovery."""
    if max(s.timer_stage, s.byte_stage) >= p.recovery:
        hyper = min(s.timer_stage, s.byte_stage) > p.recovery
        step = p.hai_mbps if hyper else p.ai_mbps
        s.target = min(s.target + step / _BYTES_PER_NS, e.max_rate)
    return (e.rate + s.target) / 2


def on_timer(p, s, e):
    """Alpha's update, or a step of the timer."""
    if e.timer == _ALPHA:
        e.due[_ALPHA] = e.now + 1e3 * p.alpha_us
        s.alpha = (1 - p.g) * s.alpha + p.g * s.heard
        s.heard = 0
        return e.rate
    e.due[_RATE] = e.now + 1e3 * p.rate_us
    rate = risen(p, s, e)
    s.timer_stage += 1
    return rate


def on_send(p, s, e):
    """A step for every B bytes."""
    if not s.started:
        return e.rate
    s.sent += e.bytes
    if s.sent < p.byte_count:
        return e.rate
    s.sent -= p.byte_count
    rate = risen(p, s, e)
    s.byte_stage += 1
    return rate
