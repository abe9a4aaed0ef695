"""Last steps of a queue model: the integers of the engine, and a score that means what it says."""

from ..data.windows import HORIZONS, Windows
from ..float_lstm import FloatLstm
from ..image import Image
from ..quantize import quantize
from .calibrate import fit_knots
from .forecaster import Forecaster, Settings

__all__ = ["calibrated"]


def calibrated(
    model: FloatLstm, settings: Settings, validation: Windows, *, version: int = 1, **card: object
) -> Image:
    """The image of a model whose score's table is fitted to validation windows.

    The score's event is a queue that reaches the threshold at some time within the horizon, while
    the bins say where it is at its end: the table makes one of the other.
    """
    raw = quantize(model, card=settings.card())
    forecaster = Forecaster(raw)
    position = forecaster.tails(forecaster.distributions(validation.signals))
    highest = validation.highest[:, HORIZONS.index(settings.horizon)]
    knots = fit_knots(position, highest >= settings.threshold_bytes)
    fitted = Settings(
        settings.bin_edges, settings.horizon, settings.normaliser, settings.threshold_bin, knots
    )
    return quantize(model, card={**card, **fitted.card()}, version=version)
