"""``precog study prediction``: what it is worth to know a receiver's load.

Every arm has the seeds of the one without prediction. Writes ``prediction.json``, and a page with
``--page``; ``--into`` adds arms to a record. Runs are kept in ``runs``, so a study that was cut off
goes on where it was.
"""

import argparse
import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from precog_fleet.runner import Task
from precog_host.output import progress_bar
from precog_sim.commit import commit_name
from precog_sim.targets import new_file, new_folder
from precog_studies.kept import kept, run_key
from precog_studies.prediction.arms import ARMS, FALSE, FORECASTS, HOSTS, OFF, WITHOUT_MODEL
from precog_studies.prediction.cases import CASES, known_levels
from precog_studies.prediction.joined import joined
from precog_studies.prediction.judged import JUDGED, judged, ratios, room
from precog_studies.prediction.page import page
from precog_studies.prediction.runs import measure
from precog_studies.record import finish, write_record

__all__ = ["main"]

_CODE = (
    ("precog_sim", "network"),
    ("precog_net", ""),
    ("precog_studies", "prediction/arms.py"),
    ("precog_studies", "prediction/bounds.py"),
    ("precog_studies", "prediction/cases.py"),
    ("precog_studies", "prediction/guesses.py"),
    ("precog_studies", "prediction/receivers.py"),
    ("precog_studies", "prediction/runs.py"),
    ("precog_studies", "prediction/trials.py"),
    ("precog_studies", "prediction/services.py"),
    ("precog_studies", "prediction/starts/gru.py"),
    ("precog_studies", "prediction/starts/heeding.py"),
    ("precog_studies", "prediction/starts/predictors.py"),
    ("precog_studies", "rivals/cases.py"),
    ("precog_studies", "prediction/starts/windows.py"),
    ("precog_studies", "prediction/starts/models/gru.safetensors"),
    ("precog_studies", "prediction/starts/models/lstm.safetensors"),
    ("precog_studies", "prediction/starts/models/tree.safetensors"),
    ("precog_host", "trial.py"),
    ("precog_models", "forecast/starts.py"),
    ("precog_models", "packet/senders.py"),
    ("precog_models", "predict"),
    ("precog_spec", ""),
    ("precog_models", "rate/engine"),
    ("precog_models", "laws"),
)
#: Cases in which false predictions are tried, and that in which hosts try them.
_TRIED = ("rounds", "background")
_TRIED_BY_HOSTS = "services"
#: Cases in which a NIC has seen its destinations before, and those where its forecasts may harm.
_SEEN = ("services", "rounds", "background")
_Run = tuple[str, str, int]


def _key(run: _Run) -> str:
    return run_key(_CODE, repr(run).encode())


def _told(case: str, arms: Mapping[str, Sequence[Mapping[str, Any]]]) -> dict[str, Any]:
    """A case's figures by arm."""
    found: dict[str, Any] = {"title": CASES[case].title, "prior": known_levels(case), "arms": {}}
    for arm, runs in arms.items():
        figures = ratios(arms[OFF], runs)
        found["arms"][arm] = {
            "figures": {name: asdict(one) for name, one in figures.items()},
            "met": judged(arm, case, figures),
            "unfinished": sum(run["unfinished"] for run in runs),
            "moving": sum(run["moving"] for run in runs),
            "skill": runs[0]["skill"],
        }
    found["against"] = {
        rival: {name: asdict(one) for name, one in ratios(arms[rival], arms[JUDGED]).items()}
        for rival in (OFF, *FORECASTS)
        if rival != JUDGED and JUDGED in arms and rival in arms
    }
    found["model"] = {
        arm: {name: asdict(one) for name, one in ratios(arms[WITHOUT_MODEL], runs).items()}
        for arm, runs in arms.items()
        if WITHOUT_MODEL in arms and {**ARMS, **FALSE}[arm].earlier is not None
    }
    if CASES[case].job:
        found["room"] = {name: asdict(one) for name, one in room(arms[OFF]).items()}
        found["link"] = {
            part: sum(run["bounds"][part] for run in arms[OFF]) / len(arms[OFF])
            for part in ("job", "background", "idle")
            if found["room"]
        }
    return found


def _arms(case: str, asked: Sequence[str] | None) -> list[str]:
    """The arms of a case, the one without prediction first."""
    names = [name for name in ARMS if name not in (*FORECASTS, *HOSTS) or case in _SEEN]
    by_hosts = {name for name, arm in FALSE.items() if arm.earlier is not None}
    names += [
        name for name in FALSE if (case == _TRIED_BY_HOSTS if name in by_hosts else case in _TRIED)
    ]
    return [name for name in names if name == OFF or asked is None or name in asked]


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status: 0."""
    parser = argparse.ArgumentParser(prog="precog study prediction", description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--case", action="append", choices=list(CASES), help="often")
    parser.add_argument("--arm", action="append", choices=[*ARMS, *FALSE], help="often")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--out", type=new_folder, default="build/prediction")
    parser.add_argument("--page", type=new_file, help="where the page goes; by default nowhere")
    parser.add_argument("--into", type=new_file, help="a record that gets the arms it lacks")
    given = sys.argv[1:] if arguments is None else list(arguments)
    asked = parser.parse_args(given)
    if asked.seeds < 2:
        parser.error(f"seeds must be at least 2, not {asked.seeds}: a ratio has an interval")
    try:
        before = json.loads(asked.into.read_bytes()) if asked.into else None
    except (OSError, ValueError) as error:
        parser.error(f"into must be a record of this study, not {asked.into}: {error}")
    runs: list[_Run] = [
        (case, arm, seed)
        for case in asked.case or CASES
        for arm in _arms(case, asked.arm)
        for seed in range(asked.seeds)
    ]
    tasks = {_key(run): Task(_key(run), measure, run) for run in runs}
    with progress_bar("Prediction") as report:
        done = kept(tasks, asked.out / "runs", workers=asked.jobs, report=report)
    said: dict[str, Any] = {
        "command": " ".join(["precog study prediction", *given]),
        "commit": commit_name("sim", "models"),
        "seeds": asked.seeds,
        "cases": {
            case: _told(
                case,
                {
                    arm: [done[_key((case, arm, seed))] for seed in range(asked.seeds)]
                    for arm in _arms(case, asked.arm)
                },
            )
            for case in asked.case or CASES
        },
    }
    record = asked.into or asked.out / "prediction.json"
    if before is not None:
        try:
            said = joined(before, said)
        except ValueError as error:
            parser.error(str(error))
    write_record(record, said)
    return finish(record, asked.page, lambda: page(said, record.as_posix()))


if __name__ == "__main__":
    raise SystemExit(main())
