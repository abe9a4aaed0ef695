"""Presets of the control law, declared once in real units.

``thesis`` is what the thesis measured with: a fixed target, the learned gains, a prediction that is
taken as it comes. ``precog`` is the default: Kd <= 0, because the thesis' +0.040 raises the rate
while the RTT rises; the target follows each queue pair's base RTT; advice is bounded.
"""

from dataclasses import dataclass

from precog_spec.contract import Fmt, Q

__all__ = ["LAW_PRESETS", "LawPreset", "law_preset"]


@dataclass(frozen=True)
class LawPreset:
    """Constants of pid and predpid.

    Parameters
    ----------
    kp, ki, kd : float
        Gains of (15).
    dmin, dmax : float
        Clamp of the rate step (20).
    target_us : float or None
        Fixed RTT target; None: base RTT plus `queue_budget_us`.
    queue_budget_us : float
        Queueing delay above the base RTT.
    advice_limit : float or None
        A prediction is clamped to RTT * (1 +- limit); None: taken as it comes.
    skill_monitor : bool
        Predictions are followed only while they are clearly better than persistence.
    advice_deadline_cycles : int
        How long a decision waits for its prediction; 0: for ever.
    rttch : bool
        The target adjuster (27)-(28) is on.
    rttch_threshold : int
        Samples on one side of the target that do not yet fire it.
    rttch_margin_us : float
        It keeps the target above the base RTT plus this.
    sigma : float
        EWMA weight of (2).
    base_window_us : float
        Window of the base-RTT minimum.
    min_gbps, max_gbps, init_gbps : float
        Rate limits and the initial rate.
    mtu : int
        Largest packet in bytes.
    """

    kp: float = -0.358
    ki: float = -0.060
    kd: float = -0.040
    dmin: float = -0.6
    dmax: float = 0.5
    target_us: float | None = None
    queue_budget_us: float = 0.8
    advice_limit: float | None = 0.25
    skill_monitor: bool = True
    advice_deadline_cycles: int = 4096
    rttch: bool = False
    rttch_threshold: int = 6
    rttch_margin_us: float = 0.2
    sigma: float = 0.2
    base_window_us: float = 10_000.0
    min_gbps: float = 1.0
    max_gbps: float = 100.0
    init_gbps: float = 10.0
    mtu: int = 1000

    def parameters(self, tick_ps: int) -> dict[str, int]:
        """The parameters that all queue pairs share, as the integers of their formats.

        Parameters
        ----------
        tick_ps : int
            Length of a tick in picoseconds.
        """
        ticks = 1e6 / tick_ps
        return {
            "sigma": Fmt.SIGMA.from_float(self.sigma),
            "base_window": round(self.base_window_us * ticks),
            "kp": Fmt.GAIN.from_float(self.kp),
            "ki": Fmt.GAIN.from_float(self.ki),
            "kd": Fmt.GAIN.from_float(self.kd),
            "dmin": Fmt.DELTA.from_float(self.dmin),
            "dmax": Fmt.DELTA.from_float(self.dmax),
            "advice_limit": _ADVICE.from_float(self.advice_limit or 0.0),
            "advice_clamp": int(self.advice_limit is not None),
            "skill_monitor": int(self.skill_monitor),
            "advice_hold": 0,
            "advice_deadline": self.advice_deadline_cycles,
            "queue_budget": Fmt.SRTT.from_float(self.queue_budget_us * ticks),
            "rttch_threshold": self.rttch_threshold,
            "rttch_margin": Fmt.SRTT.from_float(self.rttch_margin_us * ticks),
            "mtu": self.mtu,
        }

    def configuration(self, tick_ps: int) -> dict[str, int]:
        """A queue pair's target and rate fields, as the integers of their formats.

        Parameters
        ----------
        tick_ps : int
            Length of a tick in picoseconds.
        """

        def rate(gbps: float) -> int:
            return Fmt.RATE.from_float(gbps * tick_ps / 8000)

        return {
            "target_mode": int(self.target_us is None),
            "rttch": int(self.rttch),
            "target": Fmt.SRTT.from_float((self.target_us or 0.0) * 1e6 / tick_ps),
            "min_rate": rate(self.min_gbps),
            "max_rate": rate(self.max_gbps),
            "init_rate": rate(self.init_gbps),
        }


_ADVICE = Q(0, 16, signed=False)

LAW_PRESETS: dict[str, LawPreset] = {
    "thesis": LawPreset(kd=0.040, target_us=5.0, advice_limit=None, skill_monitor=False),
    "precog": LawPreset(),
}


def law_preset(name: str) -> LawPreset:
    """The preset of that name.

    Raises
    ------
    ValueError
        There is none.
    """
    if name not in LAW_PRESETS:
        raise ValueError(f"law preset must be one of {', '.join(LAW_PRESETS)}, not {name!r}")
    return LAW_PRESETS[name]
