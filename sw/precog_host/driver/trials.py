"""Trials of advice: what following predictions and scores was worth."""

from dataclasses import dataclass

from precog_spec.contract import Fmt
from precog_spec.registers.model import Access, Field
from precog_spec.registers.trials import TRIAL_SUMS
from precog_spec.trial_fields import TRIAL_KINDS, TRIAL_RATE_DROP, Verdict

from ..registers import Registers
from ..transport import DeviceError
from ..units import to_real

__all__ = ["Arm", "Trial", "TrialsDriver"]

#: Of an arm's sums.
_FIELDS = {
    "delay": Field("delay", 32, Access.RO, "", unit="ticks"),
    "rate": Field(
        "rate",
        32,
        Access.RO,
        "",
        unit="bytes/tick",
        frac_bits=Fmt.RATE.frac_bits - TRIAL_RATE_DROP,
    ),
}


@dataclass(frozen=True)
class Arm:
    """Samples of rounds in which advice was followed, or held."""

    samples: int  #: as many as have not been forgotten
    delay_us: float | None  #: mean queueing delay; None without samples
    rate_gbps: float | None  #: mean rate that was decided


@dataclass(frozen=True)
class Trial:
    """What a trial has found."""

    advice: str  #: what is tried: one of `TRIAL_KINDS`
    verdict: str  #: undecided, worth, or worthless
    follow: Arm
    hold: Arm
    #: Delay x time of the arm that follows, by that of the arm that holds; None without samples.
    ratio: float | None


class TrialsDriver:
    """A device's trials.

    Parameters
    ----------
    registers : Registers
        Of a device with trials.

    Raises
    ------
    DeviceError
        The device has none.
    """

    def __init__(self, registers: Registers) -> None:
        if not registers.sizes.trials:
            raise DeviceError("device tries no advice: it was built without trials (trials=0)")
        self._registers = registers

    def found(self, kind: str) -> Trial:
        """What the trial of one of `TRIAL_KINDS` has found, all of one moment.

        Raises
        ------
        ValueError
            There is no such kind.
        """
        if kind not in TRIAL_KINDS:
            raise ValueError(f"advice must be one of {', '.join(TRIAL_KINDS)}, not {kind!r}")
        self._registers.write_fields("TRIAL_SUMS", "COMMAND", **{f"fetch_{kind}": 1})
        words: dict[str, int] = {}
        for register in TRIAL_SUMS:
            words |= self._registers.fields("TRIAL_SUMS", register.name)
        follow, hold = (self._arm(words, name) for name in ("follow", "hold"))
        return Trial(kind, Verdict(words["verdict"]).name.lower(), follow, hold, _ratio(words))

    def _arm(self, words: dict[str, int], name: str) -> Arm:
        count, tick_ps = words[f"{name}_count"], self._registers.identity.tick_ps
        if not count:
            return Arm(0, None, None)
        sums = (to_real(_FIELDS[part], _sum(words, name, part), tick_ps) for part in _FIELDS)
        delay, rate = (total / count for total in sums)
        return Arm(count, delay, rate)


def _sum(words: dict[str, int], arm: str, part: str) -> int:
    return words[f"{arm}_{part}_low"] | words[f"{arm}_{part}_high"] << 32


def _ratio(words: dict[str, int]) -> float | None:
    follow = _sum(words, "follow", "delay") * _sum(words, "hold", "rate")
    hold = _sum(words, "hold", "delay") * _sum(words, "follow", "rate")
    return follow / hold if hold else None
