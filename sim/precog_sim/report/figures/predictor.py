"""Pictures of the predictor: a window of it at work, its errors, its training."""

from typing import Any

import numpy as np

from precog_sim.report.data import DemoResult, Errors
from precog_sim.report.figures.style import COLOURS, Picture, axes_grid, picture, tip
from precog_sim.report.series import Series

__all__ = ["PREDICTORS", "errors", "mape", "training", "window"]

# Field of Errors -> label and colour role.
PREDICTORS: dict[str, tuple[str, str]] = {
    "integer": ("LSTM, as the RTL computes it", "predpid"),
    "ar3": ("AR(3) least squares", "pid"),
    "linear": ("linear extrapolation", "dctcp"),
    "persistence": ("persistence", "muted"),
}


def window(series: Series) -> Picture:
    """One flow's RTT and what was predicted for it."""
    shown = series.prediction

    def draw(figure: Any, narrow: bool) -> None:
        axis = axes_grid(figure, 1, 1)[0, 0]
        axis.plot(shown.t_us, shown.truth_us, color=COLOURS["muted"], linewidth=1.3)
        axis.plot(
            shown.t_us, shown.predicted_us, color=COLOURS["predpid"], linewidth=0,
            marker="o", markersize=3 if narrow else 4, markeredgewidth=0, alpha=0.85,
        )  # fmt: skip
        axis.set_xlabel("time (µs)")
        axis.set_title("RTT of one flow (µs)")
        axis.margins(x=0.01)

    alt = "One flow's RTT over a short time as a line, with the predictions made for it as dots."
    return picture("window", alt, draw, wide_px=260, narrow_px=230)


def errors(series: Series) -> Picture:
    """Predicted against true RTT, and the distribution of the errors."""
    shown = series.prediction
    span = float(np.quantile(np.abs(shown.error_persistence), 0.99))
    low = float(min(shown.scatter_truth_us.min(), shown.scatter_predicted_us.min()))
    high = float(np.quantile(shown.scatter_truth_us, 0.995))

    def draw(figure: Any, narrow: bool) -> None:
        left, right = axes_grid(figure, *((2, 1) if narrow else (1, 2))).ravel()
        _hexagons(left, shown.scatter_truth_us, shown.scatter_predicted_us, (low, high), narrow)
        left.plot([low, high], [low, high], color=COLOURS["ink"], linewidth=0.9, dashes=(4, 3))
        left.set_title("Predicted RTT (µs)")
        left.set_xlabel("true RTT (µs)")
        left.set_xlim(low, high)
        left.set_ylim(low, high)
        bins = np.linspace(-span, span, 61)
        for values, role, width in (
            (shown.error_persistence, "muted", 1.4),
            (shown.error_ar3, "pid", 1.4),
            (shown.error_lstm, "predpid", 2.2),
        ):
            share, _ = np.histogram(values, bins)
            right.stairs(100 * share / values.size, bins, color=COLOURS[role], linewidth=width)
        right.set_title("Share of predictions (%)")
        right.set_xlabel("error of the predicted RTT (%)")
        right.set_ylim(0, None)

    alt = (
        "Left: predicted against true RTT on the test set, near the diagonal. Right: histograms of "
        "the relative error of the LSTM, of AR(3) and of persistence."
    )
    return picture("errors", alt, draw, wide_px=380, narrow_px=640)


def mape(result: DemoResult) -> Picture:
    """Mean error of each predictor on each test set, as dots on a line."""
    sets: dict[str, Errors] = {
        "Test blocks, balanced": result.mape.balanced,
        "Test blocks, as they come": result.mape.unbalanced,
        **{f"Unseen: {name}": value for name, value in result.mape.unseen.items()},
        "At work, balanced": result.at_work.balanced,
        "At work, as they come": result.at_work.as_they_come,
    }

    def draw(figure: Any, narrow: bool) -> None:
        axis = axes_grid(figure, 1, 1)[0, 0]
        axis.grid(False, axis="y")
        axis.grid(True, axis="x", color=COLOURS["grid"], linewidth=0.8)
        for index, (name, value) in enumerate(sets.items()):
            found = {key: getattr(value, key) for key in PREDICTORS}
            known = {key: number for key, number in found.items() if number is not None}
            axis.hlines(
                index, min(known.values()), max(known.values()), color=COLOURS["grid"], lw=3
            )
            for key, number in reversed(known.items()):
                (dot,) = axis.plot(
                    [number], [index], marker="o", linewidth=0, color=COLOURS[PREDICTORS[key][1]],
                    markersize=9 if key == "integer" else 7, markeredgewidth=0,
                )  # fmt: skip
                dot.set_gid(tip(f"{name}, {PREDICTORS[key][0]}: {number:.2f} %"))
            if narrow:  # the label above its line leaves the width to the dots
                axis.annotate(
                    name, (0, index), xytext=(0, 8), textcoords="offset points",
                    color=COLOURS["ink"],
                )  # fmt: skip
        axis.set_yticks(range(len(sets)), [""] * len(sets) if narrow else list(sets))
        axis.tick_params(axis="y", colors=COLOURS["ink"])
        axis.set_ylim(len(sets) - 0.5, -0.7 if narrow else -0.5)
        axis.set_xlim(0, None)
        axis.set_xlabel("mean absolute percentage error (%)")

    alt = "Mean error of LSTM, AR(3), linear extrapolation and persistence on every test set."
    height = 46 * len(sets)
    return picture("mape", alt, draw, wide_px=height + 40, narrow_px=height + 60)


def training(result: DemoResult, series: Series) -> Picture:
    """Error by epoch: table 1's recipe, the thesis' figures and the loaded model."""
    rows = result.tables.table1
    curve = series.training

    def draw(figure: Any, narrow: bool) -> None:
        from matplotlib.ticker import MaxNLocator

        left, right = axes_grid(figure, *((2, 1) if narrow else (1, 2)), sharey=not narrow).ravel()
        epochs = [row.epoch for row in rows]
        left.plot(epochs, [row.test for row in rows], color=COLOURS["predpid"], linewidth=2)
        left.plot(epochs, [row.train for row in rows], color=COLOURS["predpid"], lw=1, alpha=0.6)
        told = [row for row in rows if row.thesis_test is not None]
        left.plot(
            [row.epoch for row in told], [row.thesis_test for row in told],
            color=COLOURS["ink"], linewidth=0, marker="D", markersize=4.5, markeredgewidth=0,
        )  # fmt: skip
        left.set_title("The thesis' recipe (MAPE, %)")
        right.plot(curve.epoch, curve.test, color=COLOURS["predpid"], linewidth=2)
        right.plot(curve.epoch, curve.train, color=COLOURS["predpid"], linewidth=1, alpha=0.6)
        right.set_title("The model in the RTL (MAPE, %)")
        for axis in (left, right):
            axis.set_ylim(0, None)
            axis.set_xlabel("epoch")
            axis.xaxis.set_major_locator(MaxNLocator(integer=True))

    alt = (
        "Error on training and test data by epoch; left the thesis' training recipe with the "
        "thesis' own figures as diamonds, right the recipe of the model that was loaded."
    )
    return picture("training", alt, draw, wide_px=290, narrow_px=470)


def _hexagons(axis: Any, x: Any, y: Any, span: tuple[float, float], narrow: bool) -> None:
    """A hexagonal histogram whose shade is opacity, so that it works on any background."""
    from matplotlib.colors import to_rgba

    cells = axis.hexbin(x, y, gridsize=34 if narrow else 44, extent=(*span, *span), mincnt=1)
    counts = cells.get_array()
    shade = 0.12 + 0.88 * np.log1p(counts) / np.log1p(counts.max())
    cells.set_array(None)
    cells.set_facecolor([to_rgba(COLOURS["predpid"], float(a)) for a in shade])
    cells.set_edgecolor("none")
