"""TIMELY: SIGCOMM 2015's routine, its form in ns-3, and patched TIMELY (CoNEXT 2016).

    if(prevRTT_ == 0) prevRTT_ = rtt                difference = 0 at the first sample
    rtt_diff = rtt - prevRTT_
    if (rtt_diff < 0) negGradientCount_++ else 0    count, up to 255
    avgRTTDiff_ = (1-a) avgRTTDiff_ + a rtt_diff    mean += scale(difference - mean, a)
    delta_factor = min((now - last)/minRTT_, 1)     share = fraction(now - last, min_rtt)
    rtt < t_low:   rate + ai delta_factor           rate + scale(ai, share)
    rtt > t_high:  rate (1 - delta_factor b (1 - t_high/rtt))
                                                    fraction(rtt - high, rtt), scaled twice
    gradient <= 0: rate + N ai delta_factor         mean <= 0; N ai is a parameter, `hai`
    else:          rate (1 - b avgRTTDiff_/minRTT_) fraction(scale(mean, b), min_rtt)
    max(new_rate, rate * 0.5)                       rate / 2 rounded down
    min(new_rate, maxRate), max(.., minRate)        clamp; if the bounds cross, the upper one counts

Form 1 (ns-3): weight by parameter, no share, the first sample is only remembered, `hai` after
`hai_count` increases in a row, no limit of one half. Form 2 (patched, algorithm 2): between the
thresholds

    w    = clip(2 gradient + 1/2, 0, 1)
    rate = rate (1 - slope w (rtt - ref)/ref) + ai (1 - w)        slope 0.008

in the first form's frame, so its step up has the share, too. At the first sample the share is 1:
the NIC's clock wraps, so it says nothing of when the flow began.
"""

from .language import FACTOR, Field, Fmt, Parameter, Preset, Q, Record, clamp, fraction, scale

__all__ = ["PARAMETERS", "PRESETS", "STATE", "WINDOWED"]

_MEAN = Q(24, 12)
_WEIGHT = Q(0, 24, signed=False)
_COUNT = Q(8, 0, signed=False)

PARAMETERS = (
    Parameter("variant", Q(2, 0, signed=False), "", 0, "0: source, 1: ns-3, 2: patched"),
    Parameter("alpha", _WEIGHT, "", 0.02, "weight of the newest difference"),
    Parameter("beta", _WEIGHT, "", 0.8, "weight of the decrease"),
    Parameter("low", Fmt.RTT, "us", 0.0, "T_low"),
    Parameter("high", Fmt.RTT, "us", 1000.0, "T_high"),
    Parameter("min_rtt", Fmt.RTT, "us", 4.18, "RTT that normalises the gradient"),
    Parameter("reference", Fmt.RTT, "us", 5.0, "RTT_ref; patched"),
    Parameter("slope", _WEIGHT, "", 0.008, "decrease between the thresholds; patched"),
    Parameter("ai", Fmt.RATE, "Mb/s", 100.0, "additive increase"),
    Parameter("hai", Fmt.RATE, "Mb/s", 500.0, "hyperactive increase: the source's 5 ai"),
    Parameter("hai_count", _COUNT, "", 5, "updates in a row before increases are hyperactive"),
)
STATE = (
    Field("last_rtt", Fmt.RTT, "last sample; 0: none so far"),
    Field("last_t", Fmt.TIME, "its time"),
    Field("count", _COUNT, "negative differences in a row; ns-3: increases in a row"),
    Field("mean", _MEAN, "mean RTT difference, ticks"),
)
WINDOWED = False

_NS3 = {"variant": 1, "alpha": 0.875, "low": 50.0, "high": 500.0, "min_rtt": 20.0}
_PATCHED = {**_NS3, "variant": 2, "reference": 50.0}
PRESETS = {
    "paper": Preset("Mittal et al., SIGCOMM 2015", {}),
    "ns3": Preset("simulator of the authors of HPCC, 2019", _NS3),
    "scaled": Preset("thresholds for an empty RTT of 4 us", {"low": 5.0, "high": 20.0}),
    "patched": Preset("Zhu et al., CoNEXT 2016", _PATCHED),
    "precog": Preset(
        "patched, thresholds a tenth of the publication's",
        {"variant": 2, "alpha": 0.875, "low": 5.0, "high": 50.0},
    ),
}

_NS3_FORM, _PATCHED_FORM = 1, 2
_TIME_MASK = Fmt.TIME.max
_MEAN_MAX = _MEAN.max
_MEAN_MIN = _MEAN.min
_FRAC = _MEAN.frac_bits
_ONE = FACTOR.one
_HALF = FACTOR.one // 2
_COUNT_MAX = _COUNT.max


def _patched_change(p: Record, rtt: int, mean: int, share: int, rate: int) -> int:
    """Change of the rate between the thresholds."""
    gradient = fraction(abs(mean), p.min_rtt << _FRAC)
    slant = 2 * gradient if mean >= 0 else -2 * gradient
    weight = clamp(_HALF + slant, 0, _ONE)
    up = scale(p.ai, scale(_ONE - weight, share))
    gap = rtt - p.reference
    step = scale(abs(gap) << _FRAC, scale(weight, p.slope))
    move = scale(rate, fraction(step, p.reference << _FRAC))
    return up - move if gap >= 0 else up + move


def _averaged(p: Record, s: Record, difference: int) -> int:
    """The mean with one more difference. The clamp is for the proof: a mean is no extreme."""
    gap = (difference << _FRAC) - s.mean
    step = scale(abs(gap), p.alpha)
    return clamp(s.mean + (step if gap >= 0 else -step), _MEAN_MIN, _MEAN_MAX)


def on_sample(p: Record, s: Record, e: Record) -> int:
    """One completed RTT sample."""
    rtt = e.rtt
    ns3 = p.variant == _NS3_FORM
    patched = p.variant == _PATCHED_FORM
    first = s.last_rtt == 0
    difference = 0 if first else rtt - s.last_rtt
    elapsed = (e.now - s.last_t) & _TIME_MASK
    s.last_rtt = rtt
    s.last_t = e.now
    if ns3 and first:
        return clamp(e.rate, e.min_rate, e.max_rate)
    mean = _averaged(p, s, difference)
    s.mean = mean
    share = _ONE if ns3 or first else fraction(elapsed, p.min_rtt)
    if not ns3:
        s.count = min(s.count + 1, _COUNT_MAX) if difference < 0 else 0
    hyper = s.count >= p.hai_count
    low = rtt < p.low
    high = not low and rtt > p.high
    up = low or (not high and not patched and mean <= 0)
    if up:
        increase = p.hai if hyper and (ns3 or not low) and not patched else p.ai
        wanted = e.rate + scale(increase, share)
    elif high:
        cut = scale(scale(fraction(max(rtt - p.high, 0), rtt), p.beta), share)
        wanted = e.rate - scale(e.rate, cut)
    elif patched:
        wanted = e.rate + _patched_change(p, rtt, mean, share, e.rate)
    else:
        fall = fraction(max(scale(mean, p.beta), 0), p.min_rtt << _FRAC)
        wanted = e.rate - scale(e.rate, fall)
    if ns3:
        s.count = min(s.count + 1, _COUNT_MAX) if up else 0
    else:
        wanted = max(wanted, e.rate >> 1)
    return clamp(wanted, e.min_rate, e.max_rate)
