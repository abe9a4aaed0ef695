"""Random models, configurations and RTT samples that reach the corners of every format.

Everything comes from one `numpy.random.Generator`, so that a seed repeats a campaign.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from precog_models.predict.lstm import LstmWeights, pack
from precog_spec.contract import HIDDEN, MAX_INPUTS, MAX_OUTPUTS, MAX_SHIFT, Fmt, HeadKind
from precog_spec.law_fields import (
    PSCHED_EVENTS,
    PSCHED_PARAMETERS,
    SCORE_BITS,
    EventKind,
    ScoreCommand,
)
from precog_spec.trial_fields import TRIAL_PARAMETERS

__all__ = [
    "FAMILIES",
    "Ints",
    "law_events",
    "model_image",
    "parameter_fields",
    "qp_fields",
    "rtt_samples",
]

Ints = NDArray[np.int64]

#: Kinds of weights.
FAMILIES = ("random", "trained", "saturating")
_GATES = 4 * HIDDEN
_ALGORITHMS = (0.05, 0.2, 0.75)  # in the order of their codes
_RTT_MAX = Fmt.RTT.max


def model_image(rng: np.random.Generator, family: str, steps: int) -> bytes:
    """An image of a random model.

    Parameters
    ----------
    rng : Generator
    family : str
        ``"random"``: weights, shifts and biases uniform over their whole range, of any size;
        ``"saturating"``: weights at the ends, shifts near zero, so that sums and activations clip;
        ``"trained"``: the shipped model.
    steps : int
        Longest window.

    Raises
    ------
    ValueError
        There is no such family.
    """
    if family == "trained":
        from precog_models.image import pretrained

        return pretrained().payload
    if family not in FAMILIES:
        raise ValueError(f"family must be one of {', '.join(FAMILIES)}, not {family!r}")
    inputs = int(rng.integers(1, MAX_INPUTS + 1))
    outputs = int(rng.integers(1, MAX_OUTPUTS + 1))
    wide = family == "random"

    def weights(rows: int, columns: int) -> Ints:
        if wide:
            return rng.integers(-128, 128, (rows, columns))
        return rng.choice(np.array([-128, -127, 127]), (rows, columns))

    def shifts(rows: int) -> Ints:
        return rng.integers(0, MAX_SHIFT + 1 if wide else 3, rows)

    def biases(rows: int, low: int, high: int) -> Ints:
        if wide:
            return rng.integers(low >> 2, (high >> 2) + 1, rows)
        return rng.choice(np.array([low, -1, 0, high]), rows)

    wx = weights(_GATES, MAX_INPUTS)
    wx[:, inputs:] = 0
    wl = weights(MAX_OUTPUTS, HIDDEN)
    bl = biases(MAX_OUTPUTS, Fmt.OUT.min, Fmt.OUT.max)
    sh_l = shifts(MAX_OUTPUTS)
    for array in (wl, bl, sh_l):
        array[outputs:] = 0
    return pack(
        LstmWeights(
            wh=weights(_GATES, HIDDEN),
            wx=wx,
            b=biases(_GATES, Fmt.PRE.min, Fmt.PRE.max),
            sh_h=shifts(_GATES),
            sh_x=shifts(_GATES),
            wl=wl,
            bl=bl,
            sh_l=sh_l,
            inputs=inputs,
            steps=int(rng.integers(1, steps + 1)),
            outputs=outputs,
            kind=HeadKind.QUEUE if rng.random() < 0.05 else HeadKind.RTT,
            version=int(rng.integers(0, 1 << 32)),
        )
    )


def parameter_fields(rng: np.random.Generator, defaults: Mapping[str, int]) -> dict[str, int]:
    """Parameters that all QPs share: each the default, or anything in its format."""
    values = {
        "sigma": int(rng.integers(0, Fmt.SIGMA.max + 1)),
        "base_window": int(rng.integers(0, 1 << int(rng.integers(1, 33)))),
        "kp": _of(rng, Fmt.GAIN.min, Fmt.GAIN.max),
        "ki": _of(rng, Fmt.GAIN.min, Fmt.GAIN.max),
        "kd": _of(rng, Fmt.GAIN.min, Fmt.GAIN.max),
        "dmin": -int(rng.integers(0, Fmt.DELTA.one + 1)),
        "dmax": int(rng.integers(0, Fmt.DELTA.max + 1)),
        "advice_limit": int(rng.integers(0, 1 << 16)),
        "advice_clamp": int(rng.integers(0, 2)),
        "skill_monitor": int(rng.integers(0, 2)),
        "advice_hold": int(rng.random() < 0.7),
        "advice_deadline": int(rng.integers(0, 1 << int(rng.integers(1, 17)))),
        "queue_budget": int(rng.integers(0, 1 << int(rng.integers(1, 33)))),
        "rttch_threshold": int(rng.integers(0, 12)),
        "rttch_margin": int(rng.integers(0, 1 << int(rng.integers(1, 33)))),
        "mtu": int(rng.integers(0, 1 << 16)),
        **{
            name: int(rng.integers(1 << int(rng.integers(1, n + 1))))
            for name, n in PSCHED_PARAMETERS
        },
    }
    if "trial_seed" in defaults:
        values |= {
            name: int(rng.integers(1 << int(rng.integers(1, n + 1))))
            for name, n in TRIAL_PARAMETERS
        }
        values["trial_least"] &= 15  # verdicts are to change often
    # Random scores have no skill: half of the time they must be followed all the same.
    wild = dict.fromkeys(defaults, rng.random() * 0.5) | {"psched_skill": 1.0}
    wild |= {name: 1.0 for name in defaults if name.startswith("trial_")}
    return {
        name: values[name] if rng.random() < wild[name] else default
        for name, default in defaults.items()
    }


def qp_fields(
    rng: np.random.Generator, slots: int, *, enabled: bool, laws: bool = False
) -> dict[str, int]:
    """A queue pair's configuration; with `laws`, two of five run PSCHED."""
    rates = np.sort(rng.integers(0, 1 << int(rng.integers(12, 33)), 3))
    return {
        "enable": int(enabled),
        "algorithm": int(rng.choice(3, p=_ALGORITHMS)),
        "target_mode": int(rng.integers(0, 2)),
        "rttch": int(rng.integers(0, 2)),
        "win": int(rng.integers(0, 2)),
        "model_enable": int(rng.random() < 0.95),
        "model_slot": int(rng.integers(0, slots)),
        "target": int(rng.integers(0, 1 << int(rng.integers(8, 33)))),
        "min_rate": max(1, int(rates[0])),
        "init_rate": max(1, int(rates[1])),
        "max_rate": max(1, int(rates[2])),
        "psched": int(laws and rng.random() < 0.4),
        "sla_priority": int(rng.integers(0, 8)),
        "sla_latency": int(rng.integers(0, 1 << int(rng.integers(1, 25)))),
    }


def rtt_samples(rng: np.random.Generator, qps: int, n: int) -> Ints:
    """Samples of `qps` queue pairs, interleaved at random; each pair is one of five kinds.

    A walk around a base, steps, noise over the whole format, the extremes, or a constant. Time
    advances unevenly, and wraps.
    """
    qp = rng.integers(0, qps, n)
    rtt = np.zeros(n, dtype=np.int64)
    for number in range(qps):
        mine = np.flatnonzero(qp == number)
        base = 2.0 ** rng.uniform(4, 23.9)
        kind = rng.integers(0, 5)
        if kind == 0:
            values = base * np.exp(np.cumsum(rng.normal(0, 0.08, len(mine))))
        elif kind == 1:
            values = base * rng.choice(np.array([1.0, 1.02, 1.5, 4.0]), len(mine))
        elif kind == 2:
            values = rng.integers(0, _RTT_MAX + 1, len(mine)).astype(np.float64)
        elif kind == 3:
            values = rng.choice(np.array([0, 1, 2, _RTT_MAX - 1, _RTT_MAX], float), len(mine))
        else:
            values = np.full(len(mine), base)
        rtt[mine] = np.clip(values, 0, _RTT_MAX).astype(np.int64)
    gaps = rng.integers(0, 1 << int(rng.integers(4, 30)), n)
    start = int(rng.integers(0, 1 << Fmt.TIME.width))
    t = (start + np.cumsum(gaps)) & Fmt.TIME.max
    return np.stack([qp, rtt, t], axis=1).astype(np.int64)


def law_events(rng: np.random.Generator, qps: int, n: int) -> Ints:
    """Events of `qps` queue pairs, some of slots and kinds that do not exist."""
    known = [kind for kind in EventKind if kind not in PSCHED_EVENTS]
    chances = (0.3, 0.5, *[0.2 / (len(known) + 3)] * (len(known) + 3))
    kinds = rng.choice(np.array([*PSCHED_EVENTS, *known, 0, 5, 6]), n, p=chances)
    qp = rng.integers(0, qps + int(rng.integers(0, 2)), n)
    value = rng.integers(0, 1 << int(rng.integers(8, 33)), n)
    scores = np.clip(rng.normal(rng.integers(40, 90), 15, n), 0, 100).astype(np.int64)
    scores |= rng.choice(np.array([*ScoreCommand, 0, 0]), n) << SCORE_BITS
    usual = (kinds == EventKind.SCORE) & (rng.random(n) < 0.9)
    value = np.where(usual, scores, value)
    gaps = rng.integers(0, 1 << int(rng.integers(4, 24)), n)
    start = int(rng.integers(0, 1 << Fmt.TIME.width))
    t = (start + np.cumsum(gaps)) & Fmt.TIME.max
    return np.stack([kinds, qp, t, value], axis=1).astype(np.int64)


def _of(rng: np.random.Generator, low: int, high: int) -> int:
    """Uniform in magnitude's bits: small numbers are as frequent as large ones."""
    bits = int(rng.integers(1, high.bit_length() + 1))
    value = int(rng.integers(-(1 << bits), 1 << bits))
    return min(max(value, low), high)
