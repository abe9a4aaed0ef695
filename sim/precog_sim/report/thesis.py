"""The published figures, each once, with where it is printed; and whether ours agrees.

Source: the thesis on neural-network congestion control for data centres (PIDNN), its tables 1, 4,
5, 6 and figure 19. Each of its figures is one simulation run. MAPE is given here in percent, the
other units are those of `METRICS`.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from precog_sim.report.data import Cell, Epoch, Row

__all__ = [
    "ALGORITHMS",
    "CLOSE_PERCENT",
    "FIGURE19",
    "GAINS",
    "METRICS",
    "TABLE1",
    "TABLE4",
    "TABLE5",
    "TABLE6",
    "Metric",
    "agrees",
    "deviation_percent",
    "epochs",
    "row",
]


@dataclass(frozen=True)
class Metric:
    """A column: label, unit, decimals shown, the thesis' name for it (it has one RTT column for
    both RTT definitions), and the key of the glossary's term that explains it."""

    label: str
    unit: str
    digits: int
    thesis: str
    term: str = ""


METRICS: dict[str, Metric] = {
    "mean_rtt_us": Metric("Mean RTT", "µs", 3, "mean_rtt_us", "rtt"),
    "p99_us": Metric("99 % RTT", "µs", 2, "p99_us", "p99"),
    "max_us": Metric("Max RTT", "µs", 2, "max_us"),
    "all_mean_rtt_us": Metric("Mean RTT, all packets", "µs", 3, "mean_rtt_us"),
    "all_p99_us": Metric("99 % RTT, all packets", "µs", 2, "p99_us", "p99"),
    "all_max_us": Metric("Max RTT, all packets", "µs", 2, "max_us"),
    "mean_rate_gbps": Metric("Mean rate", "Gb/s", 2, "mean_rate_gbps", "rate"),
    "mean_fct_ms": Metric("Mean FCT", "ms", 2, "mean_fct_ms", "fct"),
    "last_fct_ms": Metric("Last FCT", "ms", 2, "last_fct_ms", "fct"),
    "jain": Metric("Jain's index", "", 3, "jain", "jain"),
    "utilisation": Metric("Utilisation", "%", 1, "utilisation"),
    "slowdown": Metric("FCT slowdown", "×", 2, "slowdown", "fct"),
    "max_queue_kb": Metric("Max queue", "KB", 0, "max_queue_kb"),
}

ALGORITHMS: dict[str, str] = {
    "predpid": "LSTM + PID",
    "pid": "PID",
    "hpcc": "HPCC",
    "timely": "TIMELY",
    "dctcp": "DCTCP",
    "dcqcn": "DCQCN",
}

# Table 1, MAPE by epoch 1..19, in percent: (train, test).
TABLE1: tuple[tuple[float, float], ...] = (
    (11.3, 8.1), (8.9, 7.9), (8.3, 5.9), (6.4, 8.3), (6.1, 5.8), (5.0, 6.7), (5.2, 5.3),
    (5.5, 4.5), (5.1, 4.4), (4.6, 4.2), (4.4, 4.5), (4.2, 3.9), (3.9, 4.4), (4.0, 3.7),
    (4.2, 4.3), (4.0, 3.5), (4.0, 3.8), (3.6, 4.2), (3.5, 3.6),
)  # fmt: skip

# Table 4, LSTM + PID by RTT target in µs.
TABLE4: dict[float, dict[str, float]] = {
    5.0: {"mean_rtt_us": 5.0302, "mean_rate_gbps": 21.1789, "p99_us": 6.276, "max_us": 21.144},
    6.0: {"mean_rtt_us": 6.0611, "mean_rate_gbps": 15.7269, "p99_us": 10.253, "max_us": 23.986},
    7.0: {"mean_rtt_us": 7.1478, "mean_rate_gbps": 11.2404, "p99_us": 12.906, "max_us": 48.699},
}

# Table 5, the same runs' flow completion times.
TABLE5: dict[float, dict[str, float]] = {
    5.0: {"mean_fct_ms": 11.9930, "last_fct_ms": 53.7560},
    6.0: {"mean_fct_ms": 16.1507, "last_fct_ms": 53.6880},
    7.0: {"mean_fct_ms": 22.5970, "last_fct_ms": 53.5559},
}

# Table 6. The thesis names one RTT definition and says that all but LSTM + PID start at 100 Gb/s.
TABLE6: dict[str, dict[str, float]] = {
    "predpid": TABLE4[5.0],
    "hpcc": {"mean_rtt_us": 4.3223, "mean_rate_gbps": 16.3949, "p99_us": 4.56, "max_us": 90.48},
    "timely": {
        "mean_rtt_us": 11.9797, "mean_rate_gbps": 15.6302, "p99_us": 102.673, "max_us": 165.244,
    },
    "dctcp": {"mean_rtt_us": 14.6578, "mean_rate_gbps": 17.47, "p99_us": 28.054, "max_us": 86.32},
}  # fmt: skip

# Figure 19, PID without and with the predictor, target 5 µs.
FIGURE19: dict[str, dict[str, float]] = {
    "pid": {"mean_rtt_us": 4.9616, "mean_rate_gbps": 14.7977, "p99_us": 7.462, "max_us": 24.552},
    "predpid": TABLE4[5.0],
}

# Section 3.5.3, below figure 13: [Kp, Ki, Kd] after on-line training for a 5 µs target.
GAINS: tuple[float, float, float] = (-0.358, -0.060, 0.040)

# A figure within this many percent of the published one counts as reproduced.
CLOSE_PERCENT = 3.0


def row(
    table: str,
    algorithm: str,
    values: Mapping[str, tuple[float, float | None, int]],
    *,
    target_us: float | None = None,
    start_gbps: float = 10.0,
    timing: str = "exact",
    start: str = "jitter",
) -> Row:
    """Our figures of one setting, each with the thesis' figure if it states one.

    Parameters
    ----------
    table : str
        ``"table4"``, ``"table5"``, ``"table6"`` or ``"figure19"``.
    algorithm : str
        A key of `ALGORITHMS`.
    values : mapping of str to (mean, ci95, n)
        By metric, a key of `METRICS`; `ci95` is the half width, None for a single run.
    target_us, start_gbps, timing, start
        As in `Row`.

    Raises
    ------
    ValueError
        The table, the algorithm, or a metric is unknown.
    """
    published: Mapping[str, float]
    if table in ("table4", "table5"):
        by_target = TABLE4 if table == "table4" else TABLE5
        published = by_target.get(target_us, {}) if target_us is not None else {}
    elif table in ("table6", "figure19"):
        published = (TABLE6 if table == "table6" else FIGURE19).get(algorithm, {})
    else:
        raise ValueError(f"table must be table4, table5, table6 or figure19, not {table!r}")
    if algorithm not in ALGORITHMS:
        raise ValueError(f"algorithm must be one of {', '.join(ALGORITHMS)}, not {algorithm!r}")
    cells = {}
    for name, (mean, ci95, n) in values.items():
        if name not in METRICS:
            raise ValueError(f"metric must be one of {', '.join(METRICS)}, not {name!r}")
        metric = METRICS[name]
        cells[name] = Cell(mean, ci95, n, metric.unit, thesis=published.get(metric.thesis))
    return Row(algorithm, target_us, start_gbps, timing, start, cells)


def epochs(train: tuple[float, ...], test: tuple[float, ...]) -> tuple[Epoch, ...]:
    """Table 1: our MAPE by epoch, in percent, with the thesis'.

    Raises
    ------
    ValueError
        `train` and `test` differ in length.
    """
    if len(train) != len(test):
        raise ValueError(f"test must have {len(train)} epochs, not {len(test)}")
    out = []
    for i, (a, b) in enumerate(zip(train, test, strict=True)):
        thesis = TABLE1[i] if i < len(TABLE1) else (None, None)
        out.append(Epoch(i + 1, a, b, *thesis))
    return tuple(out)


def deviation_percent(cell: Cell) -> float | None:
    """How far our mean lies from the thesis' figure, in percent of it; None without one."""
    return None if cell.thesis is None else 100 * (cell.mean - cell.thesis) / cell.thesis


def agrees(cell: Cell) -> bool | None:
    """Whether ours agrees with the reference; None where there is none.

    Against a published figure: it lies in our 95 % confidence interval, or our mean within
    `CLOSE_PERCENT` of it. Against a range: our mean lies in it.
    """
    if cell.low is not None and cell.high is not None:
        return cell.low <= cell.mean <= cell.high
    deviation = deviation_percent(cell)
    if deviation is None or cell.thesis is None:
        return None
    inside = cell.ci95 is not None and abs(cell.mean - cell.thesis) <= cell.ci95
    return inside or abs(deviation) <= CLOSE_PERCENT
