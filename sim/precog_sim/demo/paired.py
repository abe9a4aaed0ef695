"""One incast with prediction off and on: the report's first picture.

60 hosts send 500 KB to one, over web search; the network and the arms are those of
``precog study prediction``. Off is its arm `off`: lockstep with RTTs alone. On is its arm
`prior`: the law heeds the receiver's word of N, the flows that share its link. The first window
is the share by N that other runs teach. Each figure is a mean over paired seeds; the picture shows
the first seed. The same with 100 KB a flow shows what prediction costs.
"""

from collections.abc import Callable
from itertools import count

import numpy as np

from precog_sim.network import Record, Result
from precog_sim.network.metrics import estimate
from precog_sim.report.data import Cell, Pair, Paired
from precog_sim.report.series import Side
from precog_studies.prediction.arms import ARMS, OFF
from precog_studies.prediction.cases import FABRIC, INCAST, Case, incasts, loop_of, taught

__all__ = ["paired"]

_ON = "prior"
_SENDERS, _BYTES, _SHORT, _MS, _LOAD = 60, 500_000, 100_000, 1.0, 0.3
_RECORD = Record(probe_us=1.0)


def paired(seeds: int, bar: Callable[[int, int], None]) -> tuple[Paired, Side, Side]:
    """Run both arms, of 500 KB and of 100 KB a flow.

    Parameters
    ----------
    seeds : int
        2 or more.
    bar : callable
        Hears of runs done and of all.

    Returns
    -------
    tuple
        Figures over all seeds, and the curves of the first one: off, on.

    Raises
    ------
    ValueError
        There are too few seeds for an interval.
    """
    if seeds < 2:
        raise ValueError(f"paired seeds must be at least 2, not {seeds!r}")
    done, runs = count(1), 4 * seeds
    level, figures, sides = _runs(_BYTES, seeds, lambda: bar(next(done), runs))
    _, short, _ = _runs(_SHORT, seeds, lambda: bar(next(done), runs))
    said = Paired(
        senders=_SENDERS,
        flow_kb=_BYTES // 1000,
        load_percent=round(100 * _LOAD),
        level=level,
        seeds=seeds,
        queue_mb=_pair(figures, "queue_mb", "MB"),
        p99_us=_pair(figures, "p99_us", "µs"),
        last_ms=_pair(figures, "last_ms", "ms"),
        short_kb=_SHORT // 1000,
        short_ms=_pair(short, "last_ms", "ms"),
    )
    return said, sides[OFF], sides[_ON]


def _runs(
    size: int, seeds: int, ran: Callable[[], None]
) -> tuple[int, dict[str, list[dict[str, float]]], dict[str, Side]]:
    """The prior of the incast's flows; figures of each seed, and the first one's curves, by arm."""
    case = Case(
        f"{_SENDERS} hosts send {size} bytes to one, over web search",
        FABRIC,
        incasts(_MS, 1, 50.0, size, (0.0,)),
    )
    levels = taught(case)
    figures: dict[str, list[dict[str, float]]] = {OFF: [], _ON: []}
    sides: dict[str, Side] = {}
    for seed in range(seeds):
        for arm, found in figures.items():
            result, traffic, _ = loop_of(case, levels, ARMS[arm], seed, record=_RECORD)
            cast = np.array(traffic.kind) == INCAST
            found.append(_figures(result, cast))
            if seed == 0:
                sides[arm] = _side(result, cast)
            ran()
    return levels[INCAST], figures, sides


def _figures(result: Result, cast: np.ndarray) -> dict[str, float]:
    """Largest queue of any switch port, RTT of all packets, the incast's last end."""
    begun = result.start_us[cast].min()
    return {
        "queue_mb": result.max_queue * 1e-6,
        "p99_us": float(np.percentile(result.packet_rtt_us, 99)),
        "last_ms": float((result.start_us + result.fct_us)[cast].max() - begun) * 1e-3,
    }


def _pair(figures: dict[str, list[dict[str, float]]], name: str, unit: str) -> Pair:
    off, on = ([run[name] for run in figures[arm]] for arm in (OFF, _ON))
    gap = [after - before for before, after in zip(off, on, strict=True)]
    return Pair(_cell(off, unit), _cell(on, unit), _cell(gap, unit))


def _cell(values: list[float], unit: str) -> Cell:
    found = estimate(values)
    return Cell(found.mean, found.half_width, len(values), unit)


def _side(result: Result, cast: np.ndarray) -> Side:
    begun = result.start_us[cast].min()
    mine = cast[result.sample_flow]
    return Side(
        t_us=(result.sample_t_us[mine] - begun).astype(np.float32),
        rtt_us=result.sample_rtt_us[mine].astype(np.float32),
        queue_t_us=(result.probe_t_us - begun).astype(np.float32),
        queue_mb=(result.probe_queue.max(axis=1) * 1e-6).astype(np.float32),
    )
