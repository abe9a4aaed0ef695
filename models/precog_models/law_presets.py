"""Presets of TIMELY, of DCQCN's reaction point and of PSCHED, in real units.

Those with a source's name have its constants; ``precog`` is patched TIMELY with the publication's
thresholds divided by ten, for networks with an empty RTT of 4 us. Rates are for 100 Gb/s links.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from precog_spec.contract import Fmt
from precog_spec.law_fields import FRACTION, Variant

__all__ = [
    "ALL_PRESETS",
    "DCQCN_PRESETS",
    "PSCHED_PRESETS",
    "TIMELY_PRESETS",
    "DcqcnPreset",
    "PschedPreset",
    "TimelyPreset",
]

_FACTOR_MAX = FRACTION.one - 1


def _factor(name: str, value: float) -> int:
    if not 0 <= value < 1:
        raise ValueError(f"{name} must be in [0, 1), not {value!r}")
    return min(round(value * FRACTION.one), _FACTOR_MAX)


def _ticks(name: str, us: float, tick_ps: int) -> int:
    ticks = round(us * 1e6 / tick_ps)
    if not 0 <= ticks <= Fmt.RTT.max:
        raise ValueError(f"{name} must be in 0..{Fmt.RTT.max} ticks, not {ticks!r}")
    return ticks


def _rate(name: str, mbps: float, tick_ps: int) -> int:
    rate = round(mbps * tick_ps / 8e6 * Fmt.RATE.one)
    if not 0 <= rate <= Fmt.RATE.max:
        raise ValueError(f"{name} must be a rate below 256 bytes per tick, not {mbps!r} Mb/s")
    return rate


@dataclass(frozen=True)
class TimelyPreset:
    """Constants of timely.

    Parameters
    ----------
    variant : Variant
        Form of the law.
    alpha, beta, slope : float
        Weight of the newest difference, decrease, decrease between the thresholds (patched).
    low_us, high_us, min_rtt_us, reference_us : float
        T_low, T_high, the RTT that normalises the gradient, RTT_ref (patched).
    ai_mbps, hai_mbps : float
        Additive and hyperactive increase.
    hai_count : int
        Updates in a row before increases are hyperactive.
    """

    variant: Variant = Variant.SOURCE
    alpha: float = 0.02
    beta: float = 0.8
    low_us: float = 0.0
    high_us: float = 1000.0
    min_rtt_us: float = 4.18
    reference_us: float = 5.0
    slope: float = 0.008
    ai_mbps: float = 100.0
    hai_mbps: float = 500.0
    hai_count: int = 5

    def parameters(self, tick_ps: int) -> dict[str, int]:
        """`TIMELY_PARAMETERS` as the integers of their formats.

        Parameters
        ----------
        tick_ps : int
            Length of a tick in picoseconds.

        Raises
        ------
        ValueError
            A constant does not fit its format.
        """
        return {
            "variant": int(self.variant),
            "alpha": _factor("alpha", self.alpha),
            "beta": _factor("beta", self.beta),
            "low": _ticks("low_us", self.low_us, tick_ps),
            "high": _ticks("high_us", self.high_us, tick_ps),
            "min_rtt": _ticks("min_rtt_us", self.min_rtt_us, tick_ps),
            "reference": _ticks("reference_us", self.reference_us, tick_ps),
            "slope": _factor("slope", self.slope),
            "ai": _rate("ai_mbps", self.ai_mbps, tick_ps),
            "hai": _rate("hai_mbps", self.hai_mbps, tick_ps),
            "hai_count": self.hai_count,
        }


@dataclass(frozen=True)
class DcqcnPreset:
    """Constants of dcqcn's reaction point.

    Parameters
    ----------
    g : float
        Gain of alpha.
    alpha_us, cut_us, rate_us : float
        Periods of alpha's update (K), of the decrease check (0: each notification cuts at once) and
        of the increase timer (T).
    recovery : int
        Rounds F of fast recovery.
    byte_count : int
        Byte counter B; 0: none.
    ai_mbps, hai_mbps : float
        Additive and hyper increase of the target rate; hai 0: additive only.
    clamp_target : bool
        Every cut sets the target; False: only the first after an increase does.
    """

    g: float = 1 / 256
    alpha_us: float = 55.0
    cut_us: float = 0.0
    rate_us: float = 55.0
    recovery: int = 5
    byte_count: int = 10_000_000
    ai_mbps: float = 40.0
    hai_mbps: float = 0.0
    clamp_target: bool = True

    def parameters(self, tick_ps: int) -> dict[str, int]:
        """`DCQCN_PARAMETERS` as the integers of their formats.

        Parameters
        ----------
        tick_ps : int
            Length of a tick in picoseconds.

        Raises
        ------
        ValueError
            A constant does not fit its format.
        """
        return {
            "g": _factor("g", self.g),
            "alpha_ticks": _ticks("alpha_us", self.alpha_us, tick_ps),
            "cut_ticks": _ticks("cut_us", self.cut_us, tick_ps),
            "rate_ticks": _ticks("rate_us", self.rate_us, tick_ps),
            "recovery": self.recovery,
            "byte_count": self.byte_count,
            "ai": _rate("ai_mbps", self.ai_mbps, tick_ps),
            "hai": _rate("hai_mbps", self.hai_mbps, tick_ps),
            "clamp_target": int(self.clamp_target),
        }


@dataclass(frozen=True)
class PschedPreset:
    """Constants of the predictive scheduler.

    Parameters
    ----------
    threshold, hysteresis : int
        Scores: above the threshold rates fall; it ends so far below it.
    increase : float
        Rise of rates below the threshold.
    score_us : float
        How long a score holds; 0: for ever.
    delay_us : float
        The queueing delay that counts as congestion when scores are judged.
    skill : bool
        Scores are followed only while they have shown skill.
    cut : int
        Scores take 2**-cut of the law's rate at most; 0: all of it.
    """

    threshold: int = 70
    hysteresis: int = 5
    increase: float = 0.1
    score_us: float = 200.0
    delay_us: float = 4.0
    skill: bool = True
    cut: int = 1

    def parameters(self, tick_ps: int) -> dict[str, int]:
        """`rate.psched.PSCHED_PARAMETERS`, without the name in front, as integers.

        Parameters
        ----------
        tick_ps : int
            Length of a tick in picoseconds.
        """
        return {
            "threshold": self.threshold,
            "hysteresis": self.hysteresis,
            "increase": round(self.increase * (1 << 16)),
            "score_ticks": round(self.score_us * 1e6 / tick_ps),
            "delay": _ticks("delay_us", self.delay_us, tick_ps),
            "skill": int(self.skill),
            "cut": self.cut,
        }


#: ``source`` is 000's: its scores neither age nor have a hysteresis, and are followed blindly. But
#: what they take is bounded. ``queues`` is for scores of models of send queues: a long queue of
#: one's own is no congested path, and cuts for it delay the longest messages.
PSCHED_PRESETS: dict[str, PschedPreset] = {
    "source": PschedPreset(hysteresis=0, score_us=0.0, skill=False),
    "precog": PschedPreset(),
    "queues": PschedPreset(cut=3),
}

TIMELY_PRESETS: dict[str, TimelyPreset] = {
    "paper": TimelyPreset(),
    "ns3": TimelyPreset(
        variant=Variant.NS3, alpha=0.875, low_us=50.0, high_us=500.0, min_rtt_us=20.0
    ),
    "scaled": TimelyPreset(low_us=5.0, high_us=20.0),
    "patched": TimelyPreset(
        variant=Variant.PATCHED,
        alpha=0.875,
        low_us=50.0,
        high_us=500.0,
        min_rtt_us=20.0,
        reference_us=50.0,
    ),
    "precog": TimelyPreset(variant=Variant.PATCHED, alpha=0.875, low_us=5.0, high_us=50.0),
}

_VENDOR = DcqcnPreset(
    alpha_us=1.0,
    cut_us=4.0,
    rate_us=300.0,
    recovery=1,
    byte_count=32767,
    ai_mbps=5.0,
    hai_mbps=50.0,
    clamp_target=False,
)

DCQCN_PRESETS: dict[str, DcqcnPreset] = {
    "paper": DcqcnPreset(),
    "vendor": _VENDOR,
    "ns3": DcqcnPreset(**{**_VENDOR.__dict__, "byte_count": 0, "ai_mbps": 20.0, "hai_mbps": 200.0}),
}

ALL_PRESETS: dict[str, Mapping[str, TimelyPreset | DcqcnPreset | PschedPreset]] = {
    "timely": TIMELY_PRESETS,
    "dcqcn": DCQCN_PRESETS,
    "psched": PSCHED_PRESETS,
}
