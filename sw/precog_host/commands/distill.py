"""``precog model distill``: a decision tree that says what a queue model says."""

from pathlib import Path
from typing import Annotated

import typer

from precog_host.output import JsonOption, emit

__all__ = ["distill"]

_CHECK_FROM = 8  # of ten blocks of time: the last two are for the score's table and the figures
_STRIDE = 2  # samples between windows


def distill(
    traces: Annotated[Path, typer.Argument(help="File of queue traces.", exists=True)],
    output: Annotated[Path, typer.Option("-o", "--output", help="Model image to write.")],
    base: Annotated[
        str, typer.Option(help="LSTM of queues: a file, or the name of a shipped one.")
    ] = "queue-1rtt",
    depth: Annotated[int, typer.Option(min=1, max=6, help="Questions to a leaf.")] = 6,
    look_back: Annotated[int, typer.Option(min=1, max=8, help="Steps that it looks at.")] = 2,
    json_: JsonOption = False,
) -> None:
    """Grow a decision tree on what an LSTM says of queues, for a device built with tree=1.

    The last fifth of each history is kept back: the table of the tree's score is fitted to it, and
    the figures are of it.
    """
    from precog_models.data.queue_trace import load_queue_traces
    from precog_models.data.windows import BLOCKS, HORIZONS, make_windows
    from precog_models.durable import check_target
    from precog_models.forecast.forecaster import Forecaster
    from precog_models.forecast.metrics import crps
    from precog_models.image import find
    from precog_models.train.distill import distill_image
    from precog_spec.contract import PROBABILITY

    check_target(output)
    shared = find(base)
    windows = make_windows(load_queue_traces(traces), stride=_STRIDE)
    windows = windows.select(windows.whole)
    late = windows.block % BLOCKS >= _CHECK_FROM
    kept = windows.select(late)
    image = distill_image(shared, windows.select(~late), kept, depth=depth, look_back=look_back)
    image.save(output)

    def error(forecaster: Forecaster) -> float:
        settings = forecaster.settings
        y = settings.bins(kept.later[:, HORIZONS.index(settings.horizon)])
        return float(crps(forecaster.distributions(kept.signals) / PROBABILITY.one, y).mean())

    meta = image.metadata() | {
        "path": str(output),
        "windows": int((~late).sum()),
        "kept_windows": len(kept),
        "crps": error(Forecaster(image)),
        "base_crps": error(Forecaster(shared)),
    }
    emit(
        meta,
        lambda: typer.echo(
            f"{output}: tree of depth {depth}, CRC {meta['payload_crc32']}; CRPS on "
            f"{meta['kept_windows']} windows kept back {meta['crps']:.4f}, "
            f"of its LSTM {meta['base_crps']:.4f}"
        ),
        json_,
    )
