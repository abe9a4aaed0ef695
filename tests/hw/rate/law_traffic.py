"""Events, parameters and configurations for the law unit: usual ones and every extreme."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from precog_spec.law_fields import (
    DCQCN_PARAMETERS,
    EVENT_FIELDS,
    TIMELY_PARAMETERS,
    EventKind,
    Law,
    Variant,
)

Table = NDArray[np.int64]

MBPS = 2097
_ONE = 1 << 24
_TOP = (1 << 32) - 1
_TICKS = (1 << 24) - 1
_NAMES = [name for name, _ in EVENT_FIELDS]


def _pick(rng: np.random.Generator, *values: int) -> int:
    return int(values[rng.integers(len(values))])


def timely_parameters(rng: np.random.Generator) -> dict[str, int]:
    """Those of a preset, or extremes, in any mixture."""
    return {
        "variant": _pick(rng, *Variant, 3),
        "alpha": _pick(rng, 335544, 14680064, 0, _ONE - 1, rng.integers(_ONE)),
        "beta": _pick(rng, 13421773, 0, _ONE - 1, rng.integers(_ONE)),
        "low": _pick(rng, 0, 5000, 5000, 50_000, _TICKS),
        "high": _pick(rng, 20_000, 1_000_000, 0, _TICKS),
        "min_rtt": _pick(rng, 4180, 4180, 20_000, 0, 1, _TICKS),
        "reference": _pick(rng, 5000, 50_000, 0, 1, _TICKS),
        "slope": _pick(rng, 134218, 0, _ONE - 1),
        "ai": _pick(rng, 100 * MBPS, 0, _TOP),
        "hai": _pick(rng, 500 * MBPS, 0, _TOP),
        "hai_count": _pick(rng, 5, 5, 0, 1, 255),
    }


def dcqcn_parameters(rng: np.random.Generator) -> dict[str, int]:
    """Those of a preset, or extremes, in any mixture."""
    return {
        "g": _pick(rng, 65536, 65536, 81840, 0, 1, _ONE - 1, rng.integers(_ONE)),
        "alpha_ticks": _pick(rng, 55_000, 1000, 1000, 0, 1, _TICKS),
        "cut_ticks": _pick(rng, 0, 0, 4000, 4000, 50_000, 1, _TICKS),
        "rate_ticks": _pick(rng, 55_000, 300_000, 1500, 0, 1, _TICKS),
        "recovery": _pick(rng, 5, 1, 0, 255),
        "byte_count": _pick(rng, 10_000_000, 32767, 0, 1, _TOP),
        "ai": _pick(rng, 40 * MBPS, 0, _TOP),
        "hai": _pick(rng, 200 * MBPS, 0, _TOP),
        "clamp_target": _pick(rng, 0, 1),
    }


def row(fields: tuple[tuple[str, int], ...], values: dict[str, int]) -> Table:
    """Values in the order of `fields`."""
    return np.array([values[name] for name, _ in fields], dtype=np.int64)


def rows(timely: dict[str, int], dcqcn: dict[str, int]) -> tuple[Table, Table]:
    """Both parameter rows."""
    return row(TIMELY_PARAMETERS, timely), row(DCQCN_PARAMETERS, dcqcn)


def event(kind: EventKind, qp: int = 0, **values: int) -> Table:
    """One event."""
    named = {"kind": int(kind), "qp": qp, **values}
    return np.array([named.get(name, 0) for name in _NAMES], dtype=np.int64)


def _mixed(rng: np.random.Generator, n: int, *columns: Any) -> Table:
    """For each row one of the columns, of equal chance."""
    table = np.stack([np.broadcast_to(np.asarray(c, dtype=np.int64), n) for c in columns])
    return np.asarray(table[rng.integers(len(columns), size=n), np.arange(n)])


def events(
    rng: np.random.Generator, law: Law, n: int, qps: int, start: int, periods: list[int]
) -> Table:
    """`n` events from time `start` on, most of queue pairs that run `law`.

    All queue pairs collide; time steps are from none to many periods, and jumps now and then. In
    every other table the steps are the clocks' `periods`, so that events meet their ticks.
    """
    kinds = {
        Law.FIXED: (5, 5, 5, 5, 1, 3, 1),
        Law.TIMELY: (80, 1, 2, 2, 1, 2, 0.5),
        Law.DCQCN: (2, 16, 50, 26, 1, 2, 0.5),
    }[law]
    share = np.array([*kinds, 0.1]) / (sum(kinds) + 0.1)
    scale = _pick(rng, 100, 1000, 10_000, 100_000, 10_000_000)
    steps = _mixed(rng, n, 0, rng.integers(0, scale, n), rng.integers(0, 4 * scale, n))
    if rng.random() < 0.5:
        steps = _mixed(rng, n, 0, 1, *periods, max(periods) - 1, 2 * min(periods))
    steps[rng.random(n) < 0.002] = rng.integers(1 << 40)
    rtt = _mixed(
        rng,
        n,
        rng.integers(4000, 9000, n),
        rng.integers(4000, 60_000, n),
        5000 + (np.arange(n) * int(rng.integers(-20, 20))) % 3000,
        rng.integers(0, 1 << 24, n),
        np.where(
            rng.random(n) < 0.9, 4180, _mixed(rng, n, 0, 1, _TICKS, rng.integers(1 << 32, size=n))
        ),
    )
    sent = _mixed(rng, n, 64, 1024, 4096, rng.integers(0, 1 << 16, n), rng.integers(0, 1 << 24, n))
    sent[rng.random(n) < 0.01] = _TOP
    rates = (2 ** rng.uniform(0, 32, (3, n))).astype(np.int64)
    table = np.zeros((n, len(_NAMES)), dtype=np.int64)
    kind = rng.choice(8, size=n, p=share)
    usual = rng.random(n) < 0.8
    column = dict(zip(_NAMES, table.T, strict=True))
    column["kind"][:] = kind
    column["qp"][:] = rng.integers(qps, size=n)
    column["t"][:] = (start + np.cumsum(steps)) % (1 << 40)
    column["value"][:] = np.where(kind == EventKind.RTT, rtt, sent)
    column["law"][:] = np.where(rng.random(n) < 0.9, law, rng.integers(8, size=n))
    column["min_rate"][:] = np.where(usual, 100 * MBPS, rates[0])
    column["max_rate"][:] = np.where(usual, 100_000 * MBPS, _mixed(rng, n, rates[1], _TOP, 0))
    column["init_rate"][:] = np.where(usual, 10_000 * MBPS, _mixed(rng, n, rates[2], _TOP, 0))
    return table
