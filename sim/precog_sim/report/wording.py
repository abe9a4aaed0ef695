"""Figures as words: how the page prints numbers and what it says about them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby

from precog_sim.report.data import AtWork, Cell, DemoResult, Hardware, Row
from precog_sim.report.thesis import ALGORITHMS, METRICS

__all__ = [
    "FIGURE19_METRICS",
    "LITTLE_PERCENT",
    "Headline",
    "PredictorGain",
    "at_work",
    "better_laws",
    "change",
    "chosen_hardware",
    "duration",
    "find_row",
    "headlines",
    "lower_first",
    "moment",
    "number",
    "predictor_gains",
    "ranges",
    "ratio",
    "seeds_of",
    "signed",
]

#: Metrics of figure 19.
FIGURE19_METRICS = ("mean_rtt_us", "p99_us", "max_us", "mean_rate_gbps")
_SETTINGS = {
    ("exact", "jitter"): "Exact timing, jittered start",
    ("exact", "sync"): "Exact timing, all at once",
    ("ns3", "jitter"): "ns‑3’s timing, jittered start",
    ("ns3", "sync"): "ns‑3’s timing, all at once",
}
#: A gain over persistence below this many percent counts as bare.
LITTLE_PERCENT = 10.0


@dataclass(frozen=True)
class Headline:
    """One large figure: what, how much, compared with what; `good` is False for a failed check."""

    title: str
    value: str
    unit: str
    detail: str
    good: bool = True


def number(value: float | None, digits: int = 0) -> str:
    """A number with thousands separated and a true minus sign; a dash for none."""
    if value is None:
        return "–"
    return f"{value:,.{digits}f}".replace("-", "−")


def signed(value: float, digits: int = 1) -> str:
    """A number with its sign."""
    return f"{value:+,.{digits}f}".replace("-", "−")


def lower_first(text: str) -> str:
    """``Mean RTT`` within a sentence: ``mean RTT``; words like ``99 %`` stay."""
    return text[:1].lower() + text[1:]


def moment(iso: str) -> str:
    """``21 November 2026, 12:00 UTC`` from ISO 8601; any other text as it is."""
    try:
        time = datetime.fromisoformat(iso)
    except ValueError:
        return iso
    months = "January February March April May June July August September October November December"
    month = months.split()[time.month - 1]
    return f"{time.day} {month} {time.year}, {time:%H:%M} UTC"


def duration(seconds: float) -> str:
    """``4 min 42 s``, ``19 s``, ``0.4 s``."""
    if seconds < 9.95:
        return f"{seconds:.1f}\u00a0s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}\u00a0min {rest}\u00a0s" if minutes else f"{rest}\u00a0s"


def ranges(values: Sequence[int]) -> str:
    """``1–20, 42``: whole numbers in order, runs of three and more drawn together."""
    parts: list[str] = []
    ordered = sorted(set(values))
    for _, group in groupby(enumerate(ordered), key=lambda item: item[1] - item[0]):
        run = [value for _, value in group]
        parts += [f"{run[0]}–{run[-1]}"] if len(run) > 2 else map(str, run)
    return ", ".join(parts)


def change(new: float, old: float) -> str:
    """``−12.5 %``: `new` against `old`, in percent of `old`."""
    return f"{signed(100 * (new - old) / old)} %"


def ratio(new: float, old: float, name: str) -> str:
    """``12.5 % below PID``; from a factor of 2 on ``16 times below TIMELY``."""
    side = "below" if new < old else "above"
    factor = old / new if new < old else new / old
    if factor >= 2:
        return f"{factor:.{0 if factor >= 10 else 1}f} times {side} {name}"
    percent = 100 * abs(new - old) / old
    return f"{percent:.1f} % {side} {name}" if percent >= 0.05 else f"equal to {name}"


def at_work(errors: AtWork) -> str:
    """A sentence on the predictor's error in the closed loop, against persistence."""
    ours, guess = errors.as_they_come.integer, errors.as_they_come.persistence
    gain = errors.gain_percent
    if gain <= 0:
        verdict = "at work it does not beat persistence"
    elif gain < LITTLE_PERCENT:
        verdict = "at work it barely beats persistence"
    else:
        verdict = f"at work it saves {number(gain, 1)} % of persistence’s error"
    return (
        f"Offline figures flatter it: {verdict}. In the loop that it steers, its error is "
        f"{number(ours, 2)} %; the guess of no change has {number(guess, 2)} %, a linear fit over "
        f"three samples {number(errors.as_they_come.ar3, 2)} %."
    )


@dataclass(frozen=True)
class PredictorGain:
    """The law without and with the predictor, in one setting."""

    setting: str
    pid: Row
    predpid: Row


def predictor_gains(rows: tuple[Row, ...]) -> list[PredictorGain]:
    """Rows of PID and of LSTM + PID, paired by timing and start."""
    pairs: dict[tuple[str, str], dict[str, Row]] = {}
    for row in rows:
        pairs.setdefault((row.timing, row.start), {})[row.algorithm] = row
    return [
        PredictorGain(_SETTINGS[key], pair["pid"], pair["predpid"])
        for key, pair in pairs.items()
        if pair.keys() >= {"pid", "predpid"}
    ]


def find_row(rows: tuple[Row, ...], algorithm: str, start_gbps: float | None = None) -> Row | None:
    """The first row of `algorithm`, preferring those that start at `start_gbps`."""
    mine = [row for row in rows if row.algorithm == algorithm]
    return min(mine, key=lambda row: row.start_gbps != start_gbps, default=None)


def seeds_of(rows: Sequence[Row]) -> str:
    """``20 seeds``: how many runs stand behind the cells of `rows`."""
    counts = {cell.n for row in rows for cell in row.cells.values()}
    if not counts:
        return "no seeds"
    low, high = min(counts), max(counts)
    return f"{low}–{high} seeds" if low != high else f"{low} seed{'s' if low != 1 else ''}"


def chosen_hardware(result: DemoResult) -> Hardware | None:
    """The synthesised block that the loop ran: the fewest cycles at the loop's lanes."""
    mine = [item for item in result.hardware if item.lanes == result.loop.lanes]
    return min(mine, key=lambda item: item.latency_cycles, default=None)


def better_laws(result: DemoResult, metric: str = "p99_us") -> list[tuple[str, Cell]]:
    """Laws whose `metric` is below LSTM + PID's at the same start rate: name and cell."""
    ours = find_row(result.tables.table6, "predpid")
    if ours is None or metric not in ours.cells:
        return []
    found = []
    for row in result.tables.table6:
        cell = row.cells.get(metric)
        same = row.algorithm != "predpid" and row.start_gbps == ours.start_gbps
        if same and cell is not None and cell.mean < ours.cells[metric].mean:
            found.append((ALGORITHMS[row.algorithm], cell))
    return found


def headlines(result: DemoResult) -> list[Headline]:
    """The figures at the top of the page."""
    compared = result.rtl_vs_golden.mismatches + result.loop.mismatches
    out = [
        Headline(
            "RTL against golden model",
            number(compared),
            "mismatch" if compared == 1 else "mismatches",
            f"in {number(result.rtl_vs_golden.predictions)} predictions and "
            f"{number(result.loop.decisions)} rate decisions, compared bit for bit",
            good=compared == 0,
        )
    ]
    out += _tail(result)
    work = result.at_work.as_they_come
    out.append(
        Headline(
            "Error of the predicted RTT, offline",
            number(result.mape.integer, 2),
            "%",
            f"in the hardware's integers; {number(result.mape.ar3, 2)} % for a fitted linear "
            f"predictor, {number(result.mape.persistence, 2)} % for guessing no change. At work: "
            f"{number(work.integer, 2)} % for {number(work.persistence, 2)} %",
            good=result.mape.integer < min(result.mape.ar3, result.mape.persistence),
        )
    )
    block = chosen_hardware(result)
    if block is not None:
        out.append(
            Headline(
                "From RTT to prediction",
                number(block.latency_ns),
                "ns",
                f"{block.latency_cycles} cycles at {number(block.fmax_mhz)} MHz on "
                f"{block.target}, after place and route",
            )
        )
    return out


def _tail(result: DemoResult) -> list[Headline]:
    """99 % RTT of LSTM + PID against PID alone, TIMELY and DCTCP, at its own start rate if run."""
    metric = "p99_us"
    ours = find_row(result.tables.figure19, "predpid")
    if ours is None or metric not in ours.cells:
        return []
    mine = ours.cells[metric].mean
    parts, good = [], True
    alone = find_row(result.tables.figure19, "pid")
    if alone is not None and metric in alone.cells:
        parts.append(ratio(mine, alone.cells[metric].mean, "PID alone"))
        good = mine <= alone.cells[metric].mean
    for name in ("timely", "dctcp"):
        other = find_row(result.tables.table6, name, ours.start_gbps)
        if other is not None and metric in other.cells:
            label = ALGORITHMS[name]
            if other.start_gbps != ours.start_gbps:
                label += f" (which started at {number(other.start_gbps)} Gb/s)"
            parts.append(ratio(mine, other.cells[metric].mean, label))
    detail = ", ".join(parts) + f"; mean of {seeds_of([ours])}"
    return [
        Headline("99 % RTT, LSTM + PID", number(mine, METRICS[metric].digits), "µs", detail, good)
    ]
