"""The evaluation of a model set, without which there is no release.

Two questions, both by paired comparison with 95 % intervals. Does it forecast what came, on windows
that no part of training has seen: against persistence, and against the set that runs? And does it
steer no worse in the closed loop? The record of ``precog model evaluate`` answers that, for the
set's shared image; here it compares with the image that runs, too. The simulator offers that run
as an entry point; this package does not import it.

An evaluation names the set by its digest, and its verdict follows from its figures: `check` and
`record.check_record` work it out again before a release.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from precog_models.data.windows import Windows
from precog_models.durable import write_durably
from precog_models.forecast.baselines import Persistence
from precog_models.forecast.forecaster import Forecaster
from precog_models.forecast.metrics import crps, skill
from precog_models.image import Image
from precog_models.limits import brief, checked_number, checked_object, read_json

from .dataset import Dataset
from .errors import FleetError
from .fitting import column_of, crps_of
from .modelset import MANIFEST, Manifest, ModelSet
from .record import RECORD, record_failures
from .releases import EVALUATION, MAX_EVALUATION_BYTES

__all__ = [
    "ENTRY_POINT_GROUP",
    "Limits",
    "check",
    "closed_loop",
    "evaluate",
    "forced",
    "forecast_figures",
    "load_evaluation",
    "verdict",
]

ENTRY_POINT_GROUP = "precog.closed_loop"
_TYPES: dict[str, tuple[type, str]] = {
    "digest": (str, "text"),
    "live_crc32": (str, "text"),
    "data": (dict, "an object"),
    "limits": (dict, "an object"),
    "passed": (bool, "true or false"),
    "failed": (list, "a list"),
}
_SKILLS = ("skill", "skill_over_live")
_INTERVAL = ("value", "low", "high")
_LEAST_REASON, _MOST_REASON = 10, 500
#: From the files of a model and of the one that runs, of seeds and scenarios, to a record.
ClosedLoop = Callable[..., dict[str, Any]]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Limits:
    """What a set must reach to be released.

    Parameters
    ----------
    persistence : float
        Lower end of its skill over persistence.
    live : float
        Lower end of its skill over the set that runs.
    loop : float
        Upper end of each figure's ratio to that of the set that runs, and of the law alone.
    windows : int
        Held-back windows.
    seeds : int
        Of the closed loop.
    scenarios : tuple of str
        Of the closed loop; empty: all of the model's kind.
    """

    persistence: float = 0.0
    live: float = -0.02
    loop: float = 1.05
    windows: int = 200
    seeds: int = 5
    scenarios: tuple[str, ...] = ()


def closed_loop() -> ClosedLoop:
    """The closed loop that is installed.

    Raises
    ------
    FleetError
        There is none.
    """
    for point in sorted(entry_points(group=ENTRY_POINT_GROUP), key=lambda point: point.name):
        found: ClosedLoop = point.load()
        return found
    raise FleetError("closed loop needs the simulator: pip install 'precog[sim]'")


def evaluate(
    folder: Path,
    data: Dataset,
    live: ModelSet,
    loop: ClosedLoop,
    *,
    seeds: int,
    limits: Limits | None = None,
) -> dict[str, Any]:
    """Judge the model set of a folder, and write the record and the evaluation there.

    Parameters
    ----------
    folder : Path
    data : Dataset
        Its test part counts.
    live : ModelSet
        What runs.
    loop : callable
        As `closed_loop` gives it.
    seeds : int
        Runs of the closed loop for each law and network.
    limits : Limits, optional

    Returns
    -------
    dict
        JSON data; ``passed`` says whether it may be released, ``failed`` why not.
    """
    wanted = limits or Limits()
    models = ModelSet.load(folder)
    digest = Manifest.parse((folder / MANIFEST).read_bytes()).digest
    record = loop(
        models.base.to_bytes(),
        live.base.to_bytes(),
        seeds=seeds,
        scenarios=wanted.scenarios,
    )
    write_durably(folder / RECORD, _text(record))
    found: dict[str, Any] = {
        "digest": digest.hex(),
        "live_crc32": f"{live.base.crc32:#010x}",
        "data": {"sha256": data.card["sha256"], "test": list(data.times["test"])},
        "forecast": forecast_figures(models, live, data),
        "limits": asdict(wanted),
    }
    failed = verdict(found, wanted) + record_failures(
        record, bound=wanted.loop, seeds=wanted.seeds, scenarios=wanted.scenarios
    )
    found |= {"passed": not failed, "failed": failed}
    write_durably(folder / EVALUATION, _text(found))
    return found


def _text(found: dict[str, Any]) -> bytes:
    return (json.dumps(found, indent=1, sort_keys=True, allow_nan=False) + "\n").encode()


def forecast_figures(models: ModelSet, live: ModelSet, data: Dataset) -> dict[str, Any]:
    """Mean CRPS of the set, of what runs and of persistence on held-back windows; skill over both.

    Persistence is fitted to the training part, as all baselines are.
    """
    test = data.parts["test"]
    settings = Forecaster(models.base).settings
    column = column_of(settings)
    edges = np.array(settings.bin_edges)
    y = settings.bins(test.later[:, column])
    own = _scores(models, data, test)
    running = _scores(live, data, test)
    reference = crps(Persistence.fit(data.parts["train"], column, edges).predict(test), y)
    return {
        "windows": len(test),
        "blocks": len(np.unique(test.block)),
        "crps": float(own.mean()),
        "live_crps": float(running.mean()),
        "persistence_crps": float(reference.mean()),
        "skill": asdict(skill(own, reference, test.block)),
        "skill_over_live": asdict(skill(own, running, test.block)),
    }


def _scores(models: ModelSet, data: Dataset, test: Windows) -> Floats:
    """CRPS of each window under its queue's own model."""
    found = np.zeros(len(test))
    images: dict[int, list[int]] = {}  # queues that share the base are judged at once
    base = [n for n, queue in enumerate(data.queues) if queue not in models.heads]
    for n in range(len(data.queues)):
        images.setdefault(-1 if n in set(base) else n, []).append(n)
    for key, queues in images.items():
        image: Image = models.base if key < 0 else models.image(data.queues[key])
        which = np.isin(test.queue, queues)
        if which.any():
            found[which] = crps_of(image, test.select(which))
    return found


def verdict(found: Mapping[str, Any], limits: Limits) -> list[str]:
    """What forecasts keep a set from being released; nothing: they have passed."""
    forecast = found["forecast"]
    failed = []
    if forecast["windows"] < limits.windows:
        failed.append(f"held-back windows must be {limits.windows}, not {forecast['windows']}")
    for name, low in (("skill", limits.persistence), ("skill_over_live", limits.live)):
        told = forecast[name]["low"]
        if not told > low:
            failed.append(f"{name} must be above {low:g} at its lower end, not {told:.4f}")
    return failed


def load_evaluation(folder: Path) -> dict[str, Any]:
    """The evaluation of a model set's folder.

    Raises
    ------
    FleetError
        There is none.
    ValueError
        It is damaged.
    """
    path = folder / EVALUATION
    if not path.is_file():
        raise ValueError(f"{folder} must have an evaluation: make one with precog fleet evaluate")
    try:
        found = read_json(path, MAX_EVALUATION_BYTES)
        _check_form(found)
    except ValueError as error:
        raise ValueError(
            f"{path} must be an evaluation, but {error}: make one with precog fleet evaluate"
        ) from error
    return dict(found)


def _check_form(found: Any) -> None:
    """Whether all is there that `evaluate` writes."""
    checked_object("it", found, (*_TYPES, "forecast"))
    for name, (kind, word) in _TYPES.items():
        if type(found[name]) is not kind:
            raise ValueError(f"{name} must be {word}, not {brief(found[name])}")
    numbers = ("windows", "blocks", "crps", "live_crps", "persistence_crps")
    forecast = checked_object("forecast", found["forecast"], (*numbers, *_SKILLS))
    for name in numbers:
        checked_number(f"forecast.{name}", forecast[name])
    for name in _SKILLS:
        where = f"forecast.{name}"
        interval = checked_object(where, forecast[name], _INTERVAL)
        for end in _INTERVAL:
            checked_number(f"{where}.{end}", interval[end])


def forced(folder: Path, why: str, reason: str) -> dict[str, bytes]:
    """The files of a set that is released although `check` refused it, and said `why`.

    The file of the evaluation then holds both texts, and no figures.

    Raises
    ------
    ValueError
        The reason is too short or too long, or a file is damaged.
    """
    if not _LEAST_REASON <= len(reason.strip()) <= _MOST_REASON:
        raise ValueError(
            f"reason must have {_LEAST_REASON} to {_MOST_REASON} characters, not "
            f"{len(reason.strip())}: say why these models are released unjudged"
        )
    files = ModelSet.load(folder).files()
    digest = Manifest.parse(files[MANIFEST]).digest.hex()
    told = {"digest": digest, "passed": False, "forced": reason.strip(), "refused": why}
    return files | {EVALUATION: _text(told)}


def check(folder: Path, limits: Limits | None = None) -> tuple[dict[str, bytes], dict[str, Any]]:
    """The files of a set that may be released, and its evaluation.

    Raises
    ------
    FleetError
        It did not pass.
    ValueError
        It has not been evaluated, was changed since, or a file is damaged.
    """
    files = ModelSet.load(folder).files()
    digest = Manifest.parse(files[MANIFEST]).digest.hex()
    evaluation = load_evaluation(folder)
    if evaluation.get("digest") != digest:
        raise ValueError(
            f"evaluation must be of the models of {folder}, SHA-256 {digest}, "
            f"not of {evaluation.get('digest')}: evaluate them again"
        )
    failed = verdict(evaluation, limits or Limits())
    if failed:
        raise FleetError(f"models of {folder} did not pass their evaluation: {'; '.join(failed)}")
    return files | {EVALUATION: (folder / EVALUATION).read_bytes()}, evaluation
