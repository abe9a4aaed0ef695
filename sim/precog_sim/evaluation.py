"""Whether one model image may be released: offline skill and the closed loop, side by side.

The scenarios are networks of `precog_sim.scored.networks` and cases of the prediction study that no
shipped model was trained on. `judge` is the entry point of the group ``precog.closed_loop``: the
fleet asks it for a record before it releases a model.
"""

import hashlib
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from precog_fleet.runner import Here, Pool, Task
from precog_models.forecast.starts import check_model
from precog_models.image import Image, ModelImageError
from precog_models.judged import SCENARIOS, loop_failures, sealed
from precog_models.tree_image import TreeImage
from precog_sim.commit import commit_name
from precog_sim.scored.judge import queue_row, rtt_row
from precog_sim.scored.settings import LAWS
from precog_spec.contract import HeadKind
from precog_studies.prediction.candidate import start_row

__all__ = ["evaluated", "judge", "kind_of"]

_SCALE = 0.3
_Any = Image | TreeImage
Report = Callable[[int, int], None]


def kind_of(image: _Any) -> str:
    """What a model predicts: ``rtt``, ``queue`` (of a sender) or ``start`` (N at a flow's start).

    Raises
    ------
    ValueError
        It is none of these.
    """
    if isinstance(image, Image) and image.weights.kind == HeadKind.RTT:
        return "rtt"
    if "forecast" in image.card:
        return "queue"
    try:
        check_model(image)
    except ModelImageError as error:
        raise ValueError(
            "model must predict RTTs, have a queue model's calibration in its card, or be one of "
            f"starts: {error}"
        ) from error
    return "start"


def evaluated(
    image: _Any,
    *,
    seeds: int,
    scenarios: Sequence[str] = (),
    bound: float = 1.05,
    live: Image | None = None,
    delay_us: float | None = None,
    command: str = "precog_sim.evaluation.evaluated",
    jobs: int = 1,
    report: Report = lambda done, total: None,
) -> dict[str, Any]:
    """Judge a model.

    Parameters
    ----------
    image : Image or TreeImage
    seeds : int
        Paired runs, 2 or more.
    scenarios : sequence of str
        Some of `SCENARIOS` of the model's kind; empty: all.
    bound : float
        Of the upper 95 % end of every measure's ratio to the law without prediction.
    live : Image, optional
        Of a model of queues: the model that runs; rows then compare with it.
    delay_us : float, optional
        Of links, for models of queues; the scenarios' own if not given.
    command : str
        How to make the record again.
    jobs : int
        Processes.
    report : callable
        Hears of rows done and of all.

    Returns
    -------
    dict
        A sealed record (`precog_models.judged`): ``image`` (SHA-256 of the file), ``commit``,
        ``command``, ``kind``, ``bound``, ``offline``, ``closed_loop``, ``passed`` and ``failed``,
        sentences.

    Raises
    ------
    ValueError
        The model is of no kind that is known, or a number or scenario is wrong.
    FleetError
        A process died again and again.
    """
    kind = kind_of(image)
    if seeds < 2:
        raise ValueError(f"seeds must be at least 2, not {seeds}: a ratio has an interval")
    if not 1.0 <= bound <= 10.0:
        raise ValueError(f"bound must be in 1..10, not {bound!r}")
    wrong = [name for name in scenarios if name not in SCENARIOS[kind]]
    if wrong:
        known = ", ".join(SCENARIOS[kind])
        raise ValueError(
            f"scenario of a model of kind {kind} must be one of {known}, not {wrong[0]}"
        )
    began = time.monotonic()
    data = image.to_bytes()
    digest = hashlib.sha256(data).hexdigest()
    chosen = tuple(dict.fromkeys(scenarios)) or SCENARIOS[kind]
    places = [(name, law) for name in chosen for law in (LAWS if kind == "queue" else ("",))]
    tasks = [
        Task(f"{at}", _row, (image, live, kind, *place, seeds, delay_us))
        for at, place in enumerate(places)
    ]
    found: dict[str, dict[str, Any]] = {}
    runner = Here() if jobs == 1 or len(tasks) == 1 else Pool(min(jobs, len(tasks)))
    try:
        report(0, len(tasks))
        for task, figures in runner.run(iter(tasks)):
            found[task.name] = figures
            report(len(found), len(tasks))
    finally:
        runner.close()
    rows = [found[task.name] for task in tasks]
    loop = {"image": digest, "seeds": seeds, "scale": _SCALE, "results": rows}
    if delay_us is not None:
        loop["delay_us"] = delay_us
    failed = loop_failures(loop, bound)
    record = {
        "image": digest,
        "crc32": f"{image.crc32:#010x}",
        "commit": commit_name("models", "sim", "sw"),
        "command": command,
        "kind": kind,
        "bound": bound,
        "offline": _offline(image, rows),
        "closed_loop": loop,
        "seconds": round(time.monotonic() - began, 1),
        "passed": not failed,
        "failed": failed,
    }
    return sealed(record)


def judge(
    candidate: bytes,
    live: bytes,
    *,
    seeds: int,
    scenarios: Sequence[str] = (),
    delay_us: float | None = None,
) -> dict[str, Any]:
    """The record of a queue model's file, compared with that of the one that runs, too.

    Raises
    ------
    ModelImageError
        A model is none.
    ValueError
        As `evaluated`.
    """
    return evaluated(
        Image.from_bytes(candidate),
        seeds=seeds,
        scenarios=scenarios,
        live=Image.from_bytes(live),
        delay_us=delay_us,
        command=f"precog fleet evaluate --seeds {seeds}",
    )


def _row(
    image: _Any,
    live: Image | None,
    kind: str,
    scenario: str,
    law: str,
    seeds: int,
    delay_us: float | None,
) -> dict[str, Any]:
    """A model in one scenario; `live`, `law` and `delay_us` are a queue model's."""
    if kind == "start":
        return start_row(image, scenario, seeds=seeds)
    if kind == "queue":
        return queue_row(
            image, live, scenario, law, seeds=range(seeds), scale=_SCALE, delay_us=delay_us
        )
    assert isinstance(image, Image)
    return rtt_row(image, scenario, seeds=range(seeds), scale=_SCALE)


def _offline(image: _Any, rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Errors and skill over persistence on data held back: the card's, or those of the trials."""
    found = [
        {"data": f"trial of {one['network']}", **one["offline"]} for one in rows if "offline" in one
    ]
    errors = image.card.get("errors")
    if not isinstance(errors, dict):
        return found
    if "crps_skill" in errors:
        found.append({"data": "held back", "skill": errors["crps_skill"]})
    for group, methods in errors.items():
        try:
            own, last = (float(methods[name]["balanced"]) for name in ("integer", "persistence"))
        except (LookupError, TypeError, ValueError):  # another card than precog model train writes
            continue
        if last > 0:
            row = {"data": group, "error": own, "persistence": last, "skill": 1 - own / last}
            found.append(row)
    return found
