"""Every picture of the report, by name."""

from precog_sim.report.data import DemoResult
from precog_sim.report.figures.agreement import agreement
from precog_sim.report.figures.figure20 import figure20
from precog_sim.report.figures.network import cdf, run, start
from precog_sim.report.figures.paired import paired
from precog_sim.report.figures.predictor import errors, mape, training, window
from precog_sim.report.figures.studies import ratios, sharing
from precog_sim.report.figures.style import Picture
from precog_sim.report.series import Series
from precog_sim.report.studies import Studies

__all__ = ["Picture", "draw_all", "draw_studies"]


def draw_all(result: DemoResult, series: Series) -> dict[str, Picture]:
    """Draw them all (some seconds of CPU time)."""
    pictures = (
        paired(result, series),
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


def draw_studies(studies: Studies) -> dict[str, Picture]:
    """Draw what there is of them."""
    pictures = []
    if studies.sharing:
        pictures.append(sharing(studies.sharing))
    if studies.scored:
        pictures.append(ratios(studies.scored))
    if studies.figure20:
        pictures.append(figure20(studies.figure20))
    return {picture.name: picture for picture in pictures}
