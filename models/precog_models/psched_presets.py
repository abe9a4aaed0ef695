"""Presets of the predictive scheduler, in real units."""

from dataclasses import dataclass

from precog_spec.contract import Fmt

__all__ = ["PSCHED_PRESETS", "PschedPreset"]


def _ticks(name: str, us: float, tick_ps: int) -> int:
    ticks = round(us * 1e6 / tick_ps)
    if not 0 <= ticks <= Fmt.RTT.max:
        raise ValueError(f"{name} must be in 0..{Fmt.RTT.max} ticks, not {ticks!r}")
    return ticks


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
