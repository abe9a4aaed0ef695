"""Every picture of the report, by name."""

from precog_sim.report.data import DemoResult
from precog_sim.report.figures.agreement import agreement
from precog_sim.report.figures.network import cdf, run, start
from precog_sim.report.figures.predictor import errors, mape, training, window
from precog_sim.report.figures.style import Picture
from precog_sim.report.series import Series

__all__ = ["Picture", "draw_all"]


def draw_all(result: DemoResult, series: Series) -> dict[str, Picture]:
    """Draw them all (some seconds of CPU time)."""
    pictures = (
        start(result, series),
        run(result, series),
        cdf(series),
        window(series),
        errors(series),
        mape(result),
        training(result, series),
        agreement(result.tables),
    )
    return {picture.name: picture for picture in pictures}
