"""The page: data model and pictures in, one self-contained HTML file out."""

import json
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from precog_models.durable import write_durably
from precog_sim.report import ns3, thesis
from precog_sim.report.card import model_card
from precog_sim.report.data import RESULT_FILE, DemoResult, Row
from precog_sim.report.figures import Picture, draw_all, draw_studies
from precog_sim.report.figures.agreement import Comparison, comparisons
from precog_sim.report.figures.network import elephants
from precog_sim.report.figures.predictor import PREDICTORS
from precog_sim.report.figures.spark import HEIGHT_PX, WIDTH_PX, spark
from precog_sim.report.series import SERIES_FILE, Run, Series
from precog_sim.report.studies import LAW_NAMES, SOURCE_NAMES, Studies
from precog_sim.report.templates import rendered
from precog_sim.report.terms import TERMS
from precog_sim.report.wording import (
    FIGURE19_METRICS,
    LITTLE_PERCENT,
    at_work,
    better_laws,
    change,
    chosen_hardware,
    find_row,
    headlines,
    predictor_gains,
    seeds_of,
)

__all__ = ["REPORT_FILE", "compose", "load", "render"]

REPORT_FILE = "report.html"
TEMPLATE_FILE = "template.html.j2"
_DOCS = Path(__file__).parents[3] / "docs/evidence/data"


def render(result_dir: Path) -> Path:
    """Write ``report.html`` into `result_dir`, from its result files.

    Returns
    -------
    Path
        The page.

    Raises
    ------
    ValueError
        A result file is missing, damaged, or of another version; the message names it and says
        what to do.
    """
    result, series = load(result_dir)
    studies = Studies.read(_DOCS)
    pictures = draw_all(result, series) | draw_studies(studies)
    page = compose(result, series, pictures, studies)
    path = result_dir / REPORT_FILE
    write_durably(path, page.encode())
    return path


def load(result_dir: Path) -> tuple[DemoResult, Series]:
    """Read what ``make demo`` left in `result_dir`.

    Raises
    ------
    ValueError
        As `render`.
    """
    for name in (RESULT_FILE, SERIES_FILE):
        if not (result_dir / name).is_file():
            raise ValueError(f"{result_dir / name} must exist; run `make demo` to make it")
    try:
        result = DemoResult.from_json((result_dir / RESULT_FILE).read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(_damaged(result_dir / RESULT_FILE, error)) from error
    try:
        series = Series.load(result_dir)
    except (ValueError, OSError, EOFError, zlib.error, zipfile.BadZipFile) as error:
        raise ValueError(_damaged(result_dir / SERIES_FILE, error)) from error
    flows = result.scenario.senders
    for name, run in (("predpid", series.predpid), ("pid", series.pid)):
        counted = {"flows": flows, "sizes": len(result.scenario.sizes_mb), "FCTs": run.fct_ms.size}
        if len(set(counted.values())) != 1 or int(run.flow.max()) >= flows:
            what = ValueError(f"{name} must have one size and one FCT a flow, not {counted}")
            raise ValueError(_damaged(result_dir / SERIES_FILE, what))
    return result, series


def _damaged(path: Path, error: Exception) -> str:
    return (
        f"{path} must be a whole result of this version of the demo: {error}; run `make demo` again"
    )


def compose(
    result: DemoResult,
    series: Series,
    pictures: dict[str, Picture],
    studies: Studies | None = None,
) -> str:
    """The page's HTML. Every number on it comes from the arguments or from `thesis`."""
    context = _context(result, series, pictures) | _studied(studies or Studies())
    return rendered(TEMPLATE_FILE, context)


def _context(result: DemoResult, series: Series, pictures: dict[str, Picture]) -> dict[str, Any]:
    compared = comparisons(result.tables)
    agreeing = [item for item in compared if thesis.agrees(item.cell)]
    simulated = [cell for row in result.tables.ns3 for cell in row.cells.values()]
    referenced = [cell for cell in simulated if thesis.agrees(cell) is not None]
    off: dict[str, list[Comparison]] = {}
    for item in compared:
        if not thesis.agrees(item.cell):
            off.setdefault(item.label, []).append(item)
    return {
        "r": result,
        "fig": pictures,
        "headlines": headlines(result),
        "flows": _flows(result, series),
        "spark_size": (WIDTH_PX, HEIGHT_PX),
        "big": elephants(result),
        "algorithms": thesis.ALGORITHMS | ns3.VARIANTS,
        "metrics": thesis.METRICS,
        "published": {"gains": thesis.GAINS, "table6": thesis.TABLE6},
        "close_percent": thesis.CLOSE_PERCENT,
        "agrees": thesis.agrees,
        "deviation": thesis.deviation_percent,
        "compared": compared,
        "agreeing": agreeing,
        "off": len(compared) - len(agreeing),
        "off_by_label": off,
        "ns3_inside": sum(bool(thesis.agrees(cell)) for cell in referenced),
        "ns3_all": len(referenced),
        "sweep": _joined(result.tables.table4, result.tables.table5),
        "table6": _grouped(result.tables.table6),
        "algorithm_legend": [
            (label, name, "") for name, label in thesis.ALGORITHMS.items() if name in series.cdf
        ],
        "predictor_legend": [(label, role, "dot") for label, role in PREDICTORS.values()],
        "ns3_metrics": [
            name for name in thesis.METRICS if any(name in row.cells for row in result.tables.ns3)
        ],
        "error_sets": {
            "Balanced": result.mape.balanced,
            "As they come": result.mape.unbalanced,
            "At work, balanced": result.at_work.balanced,
            "At work, as they come": result.at_work.as_they_come,
            **result.mape.unseen,
            "Thesis' recipe": result.mape.thesis_preset,
        },
        "hardware": chosen_hardware(result),
        "better": better_laws(result),
        "change": change,
        "seeds_of": seeds_of,
        "predpid_row": find_row(result.tables.figure19, "predpid"),
        "figure19": predictor_gains(result.tables.figure19),
        "figure19_metrics": FIGURE19_METRICS,
        "at_work": at_work(result.at_work),
        "weak_at_work": result.at_work.gain_percent < LITTLE_PERCENT,
        "terms": TERMS,
        "card": model_card(result.model_card),
        "data": json.loads(result.to_json()),
    }


def _studied(studies: Studies) -> dict[str, Any]:
    return {
        "sharing": studies.sharing,
        "scored": studies.scored,
        "figure20": studies.figure20,
        "law_names": LAW_NAMES,
        "source_names": SOURCE_NAMES,
    }


def _joined(first: tuple[Row, ...], second: tuple[Row, ...]) -> list[Row]:
    """Tables 4 and 5 are the same runs: one row a target, with the cells of both."""
    more = {row.target_us: row.cells for row in second}
    return [
        Row(
            row.algorithm,
            row.target_us,
            row.start_gbps,
            row.timing,
            row.start,
            row.cells | more.get(row.target_us, {}),
        )
        for row in first
    ]


def _grouped(rows: tuple[Row, ...]) -> dict[str, list[Row]]:
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(row.algorithm, []).append(row)
    return groups


@dataclass(frozen=True)
class FlowLine:
    """One row of the table of flows; the paths are of `spark`."""

    number: int
    size_mb: float
    fct_ms: float
    pid_fct_ms: float
    rate_gbps: float
    mean_rtt_us: float
    p99_us: float
    rtt: str
    pid_rtt: str
    rate: str
    pid_rate: str


def _flows(result: DemoResult, series: Series) -> list[FlowLine]:
    both = np.concatenate([series.predpid.rtt_us, series.pid.rtt_us])
    rtt_span = (float(both.min()), float(np.quantile(both, 0.99)))
    rates = np.concatenate([series.predpid.rate_gbps, series.pid.rate_gbps])
    rate_span = (max(float(rates.min()), 1e-3) * 0.9, float(rates.max()) * 1.1)
    lines = []
    for flow, size in enumerate(result.scenario.sizes_mb):
        end = 1e3 * max(float(series.predpid.fct_ms[flow]), float(series.pid.fct_ms[flow]))

        def paths(run: Run, flow: int = flow, end: float = end) -> tuple[str, str]:
            mine = run.flow == flow
            t = run.t_us[mine]
            low, high = rtt_span
            rtt = spark(t, run.rtt_us[mine], end=end, low=low, high=high)
            low, high = rate_span
            return rtt, spark(t, run.rate_gbps[mine], end=end, low=low, high=high, log=True)

        samples = series.predpid.rtt_us[series.predpid.flow == flow]
        rtt, rate = paths(series.predpid)
        pid_rtt, pid_rate = paths(series.pid)
        fct = float(series.predpid.fct_ms[flow])
        lines.append(
            FlowLine(
                number=flow + 1,
                size_mb=size,
                fct_ms=fct,
                pid_fct_ms=float(series.pid.fct_ms[flow]),
                rate_gbps=8 * size / fct,
                mean_rtt_us=float(samples.mean()) if samples.size else 0.0,
                p99_us=float(np.quantile(samples, 0.99)) if samples.size else 0.0,
                rtt=rtt,
                pid_rtt=pid_rtt,
                rate=rate,
                pid_rate=pid_rate,
            )
        )
    return lines
