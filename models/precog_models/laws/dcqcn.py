"""DCQCN's reaction point (Zhu et al., SIGCOMM 2015), its timers evaluated when something happens.

    on a CNP:                  R_T = R, R = R (1 - alpha / 2), alpha = (1 - g) alpha + g
    every K without one:       alpha = (1 - g) alpha
    every T, and every B bytes: a step of recovery
        the first F rounds     R = (R_T + R) / 2                    fast recovery
        then                   R_T = R_T + R_AI, R as above         additive increase
        both counts above F    R_T = R_T + R_HAI, R as above        hyper increase

With a check period (vendor, ns-3) a CNP only leaves marks: the next update of alpha raises it, and
the next tick of the check cuts. The check's clock starts with the first CNP.

Every event first does what the clocks have done since the last one. Alpha's k periods are one
product per base-16 digit of k with a power of 1 - g (parameter `decay`), not k products; increases
are made one by one, at most 8 in a row, and the rest by the next event. Two things of one moment
happen in the order: alpha's update, increase, cut, event. Beyond 4095 periods without any event a
clock starts anew, with the event, and alpha has decayed 4095 times. A queue pair may be without
events for less than half of the time's range (9 minutes at 1 ns).
"""

from collections.abc import Mapping

from .language import ACK, CNP, FACTOR, Field, Fmt, Parameter, Preset, Q, Record, clamp, scale
from .library import periods, since

__all__ = ["PARAMETERS", "PRESETS", "STATE", "WINDOWED"]

_ALPHA = Q(1, 32, signed=False)  # in [0, 1]: small gains need the fine steps
_PERIOD = Q(24, 0, signed=False)
_COUNT = Q(8, 0, signed=False)
_BYTES = Q(32, 0, signed=False)
_FLAG = Q(1, 0, signed=False)
_DIGITS = 16
_LEVELS = 3


def _decay(numbers: Mapping[str, int]) -> list[int]:
    """Powers of 1 - g: word 16 * level + digit is (1 - g)**(digit * 16**level).

    Each entry is the one before it times the level's first power, rounded; that of the next level
    follows the level's last entry in the same way.
    """
    table = []
    base = _ONE - numbers["g"]
    for _ in range(_LEVELS):
        power = _ONE
        for _ in range(_DIGITS):
            table.append(power)
            power = int(scale(power, base))
        base = power
    return table


PARAMETERS = (
    Parameter("g", Q(0, 24, signed=False), "", 1 / 256, "gain of alpha"),
    Parameter("alpha_ticks", _PERIOD, "us", 55.0, "period K of alpha's update; 0: none"),
    Parameter("cut_ticks", _PERIOD, "us", 0.0, "period of the decrease check; 0: cut at once"),
    Parameter("rate_ticks", _PERIOD, "us", 55.0, "period T of the rate timer; 0: none"),
    Parameter("recovery", _COUNT, "", 5, "rounds F of fast recovery"),
    Parameter("byte_count", _BYTES, "bytes", 10_000_000, "bytes B of a step; 0: no byte counter"),
    Parameter("ai", Fmt.RATE, "Mb/s", 40.0, "additive increase"),
    Parameter("hai", Fmt.RATE, "Mb/s", 0.0, "hyper increase; 0: none"),
    Parameter("clamp_target", _FLAG, "", 1, "1: every cut sets the target; 0: the first does"),
    Parameter("decay", FACTOR, "", 0, "powers of 1 - g", _LEVELS * _DIGITS, _decay),
)
STATE = (
    Field("started", _FLAG, "a notification has come"),
    Field("timing", _FLAG, "the rate timer runs"),
    Field("alpha_cnp", _FLAG, "a notification has come since the last update of alpha"),
    Field("cut_cnp", _FLAG, "a cut is due at `cut_t`"),
    Field("target", Fmt.RATE, "R_T"),
    Field("alpha", _ALPHA, "alpha"),
    Field("timer_stage", _COUNT, "steps of the timer since the cut"),
    Field("byte_stage", _COUNT, "steps of the byte counter since the cut"),
    Field("bytes", _BYTES, "since the last step"),
    Field("alpha_t", Fmt.TIME, "last update of alpha"),
    Field("rate_t", Fmt.TIME, "last step of the rate timer"),
    Field("cut_t", Fmt.TIME, "a tick of the decrease check"),
)
WINDOWED = False

_VENDOR = {
    "alpha_ticks": 1.0,
    "cut_ticks": 4.0,
    "rate_ticks": 300.0,
    "recovery": 1,
    "byte_count": 32767,
    "ai": 5.0,
    "hai": 50.0,
    "clamp_target": 0,
}
PRESETS = {
    "paper": Preset("Zhu et al., SIGCOMM 2015", {}),
    "vendor": Preset("a vendor's defaults, as in the simulator of HPCC's authors, 2019", _VENDOR),
    "ns3": Preset(
        "simulator of the authors of HPCC, 2019",
        {**_VENDOR, "byte_count": 0, "ai": 20.0, "hai": 200.0},
    ),
}

_ONE = FACTOR.one
_ALPHA_ONE = _ALPHA.one
_DROP = _ALPHA.frac_bits - FACTOR.frac_bits
_COUNT_MAX = _COUNT.max
_BYTES_MAX = _BYTES.max
_TIME_MASK = Fmt.TIME.max


def _raised(p: Record, alpha: int) -> int:
    """(1 - g) alpha + g; the bound is for the proof."""
    return min(scale(alpha, _ONE - p.g) + (p.g << _DROP), _ALPHA_ONE)


def _cut(p: Record, s: Record, e: Record, rate: int, t: int) -> int:
    """Fall by alpha / 2, and start recovery and the rate timer anew."""
    if p.clamp_target != 0 or s.timer_stage > 0 or s.byte_stage > 0:
        s.target = rate
    half = (s.alpha + (1 << _DROP)) >> (_DROP + 1)
    s.timer_stage = 0
    s.byte_stage = 0
    s.bytes = 0
    s.timing = 1
    s.rate_t = t
    return clamp(rate - scale(rate, half), e.min_rate, e.max_rate)


def _increase(p: Record, s: Record, e: Record, rate: int) -> int:
    """A step of fast recovery, additive or hyper increase, by the stages before it."""
    high = max(s.timer_stage, s.byte_stage)
    if high >= p.recovery:
        # Without a byte counter the timer alone goes through all three phases.
        hyper = min(s.timer_stage, s.byte_stage) if p.byte_count != 0 else high
        step = p.hai if hyper > p.recovery and p.hai != 0 else p.ai
        s.target = min(s.target + step, e.max_rate)
    return clamp((rate + s.target + 1) >> 1, e.min_rate, e.max_rate)


def _decayed(p: Record, s: Record, t: int) -> int:
    """Alpha's updates up to `t`; the new alpha."""
    elapsed = since(s.alpha_t, t)
    if p.alpha_ticks == 0 or elapsed < p.alpha_ticks:
        return s.alpha
    count, rest = periods(elapsed, p.alpha_ticks)
    alpha = s.alpha
    if s.alpha_cnp != 0:
        alpha = _raised(p, alpha)
        count = count - 1
    alpha = scale(alpha, p.decay[count & 15])
    alpha = scale(alpha, p.decay[16 + ((count >> 4) & 15)])
    alpha = scale(alpha, p.decay[32 + ((count >> 8) & 15)])
    s.alpha_cnp = 0
    s.alpha_t = (t - rest) & _TIME_MASK
    return min(alpha, _ALPHA_ONE)


def _tick(p: Record, s: Record, e: Record, rate: int, left: int, number: int) -> int:
    """The rate timer's step of this number, if it is due."""
    if left < number * p.rate_ticks:
        return rate
    risen = _increase(p, s, e, rate)
    s.timer_stage = min(s.timer_stage + 1, _COUNT_MAX)
    s.rate_t = (s.rate_t + p.rate_ticks) & _TIME_MASK
    return risen


def _run_clocks(p: Record, s: Record, e: Record, rate: int, t: int) -> int:
    """Alpha's updates and the rate timer's steps up to `t`."""
    s.alpha = _decayed(p, s, t)
    left = since(s.rate_t, t)
    if s.timing == 0 or p.rate_ticks == 0 or left < p.rate_ticks:
        return rate
    rate = _tick(p, s, e, rate, left, 1)
    rate = _tick(p, s, e, rate, left, 2)
    rate = _tick(p, s, e, rate, left, 3)
    rate = _tick(p, s, e, rate, left, 4)
    rate = _tick(p, s, e, rate, left, 5)
    rate = _tick(p, s, e, rate, left, 6)
    rate = _tick(p, s, e, rate, left, 7)
    rate = _tick(p, s, e, rate, left, 8)
    return rate


def _advance(p: Record, s: Record, e: Record, rate: int, t: int) -> int:
    """The rate after all that the clocks have done up to `t`."""
    due = s.cut_t
    if s.cut_cnp != 0 and (due == t or since(due, t) != 0):
        rate = _run_clocks(p, s, e, rate, due)
        rate = _cut(p, s, e, rate, due)
        s.cut_cnp = 0
    rate = _run_clocks(p, s, e, rate, t)
    return rate


def _notify(p: Record, s: Record, e: Record, rate: int, t: int) -> int:
    """The rate after a CNP at `t`; the clocks have been advanced."""
    first = s.started == 0
    if first:
        s.started = 1
        s.alpha = _ALPHA_ONE
        s.target = rate
    if p.cut_ticks == 0:
        fallen = _cut(p, s, e, rate, t)
        s.alpha = _raised(p, s.alpha)
        s.alpha_t = t
        return fallen
    if first:
        s.alpha_t = t
        s.cut_t = t
    else:
        s.alpha_cnp = 1
    if s.cut_cnp == 0:
        _, rest = periods((t - s.cut_t) & _TIME_MASK, p.cut_ticks)
        s.cut_t = (t - rest + p.cut_ticks) & _TIME_MASK
        s.cut_cnp = 1
    return rate


def _step(p: Record, s: Record, e: Record, rate: int) -> int:
    """A step of the byte counter, if one is due."""
    if s.bytes < p.byte_count:
        return rate
    s.bytes = s.bytes - p.byte_count
    risen = _increase(p, s, e, rate)
    s.byte_stage = min(s.byte_stage + 1, _COUNT_MAX)
    return risen


def _count(p: Record, s: Record, e: Record, rate: int) -> int:
    """The rate after more bytes; the clocks have been advanced."""
    if s.started == 0 or p.byte_count == 0:
        return rate
    s.bytes = min(s.bytes + e.bytes, _BYTES_MAX)
    if s.bytes < p.byte_count:
        return rate
    rate = _step(p, s, e, rate)
    rate = _step(p, s, e, rate)
    rate = _step(p, s, e, rate)
    rate = _step(p, s, e, rate)
    rate = _step(p, s, e, rate)
    rate = _step(p, s, e, rate)
    rate = _step(p, s, e, rate)
    rate = _step(p, s, e, rate)
    return rate


def on_timer(p: Record, s: Record, e: Record) -> int:
    """Every event: time has passed, and perhaps a CNP came or bytes were acknowledged."""
    rate = e.rate
    if s.started != 0:
        rate = _advance(p, s, e, rate, e.now)
    if e.kind == CNP:
        rate = _notify(p, s, e, rate, e.now)
    elif e.kind == ACK:
        rate = _count(p, s, e, rate)
    return rate


on_ack = on_timer
on_sample = on_timer
on_cnp = on_timer
on_loss = on_timer
