"""From the telemetry of many agents to one training set and its data card.

    parts of all agents ─► sound? ours? ─► DuckDB: plausible, distinct, in order ─► windows.parquet
                                                                                     card.json

The set has telemetry's columns, by member, device, queue pair and time. Its card says what is in
it and what was left out, so that no reader has to trust the set's name.
"""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from precog_models.durable import write_durably
from precog_spec.contract import CONTRACT_HASH

from . import places
from .errors import FleetError
from .places import require_new
from .telemetry import SCHEMA, read_part

__all__ = [
    "CARD",
    "PARTS_TABLE",
    "WINDOWS",
    "ForeignContractError",
    "Found",
    "check_telemetry",
    "collect",
    "find_parts",
    "spelled",
]

WINDOWS = "windows.parquet"
CARD = "card.json"
_MAX_VALUE = (1 << 32) - 1  # of a signal: what the profiler's registers hold
_WILD = re.compile(r"[*?\[]")
_SIGNALS = ("queued_bytes", "arrival_gap_ticks", "service_ticks", "message_bytes")


class ForeignContractError(FleetError):
    """Telemetry of other number formats."""


@dataclass
class Found:
    """Parts that were found.

    Attributes
    ----------
    sound : list of Path
    damaged : dict of str to str
        Why, by path.
    foreign : dict of str to int
        Contract, by path.
    """

    sound: list[Path] = field(default_factory=list)
    damaged: dict[str, str] = field(default_factory=dict)
    foreign: dict[str, int] = field(default_factory=dict)


def check_telemetry(folder: Path) -> None:
    """Refuse what is no folder.

    Raises
    ------
    ValueError
        It is none.
    """
    if not folder.is_dir():
        raise ValueError(f"telemetry must be a folder that is there, not {folder}")


def spelled(path: Path) -> str:
    """A file's name for DuckDB, which takes some characters for a pattern of names."""
    return _WILD.sub(r"[\g<0>]", str(path))


def find_parts(folders: Iterable[Path]) -> Found:
    """Look at every part below some folders, in the order of their names.

    Raises
    ------
    ValueError
        A folder is none.
    """
    found = Found()
    for folder in folders:
        check_telemetry(folder)
        for path in sorted(folder.rglob("*.parquet")):
            try:
                table = read_part(path)
            except (ValueError, OSError) as error:  # also one that its agent has just deleted
                found.damaged[str(path)] = str(error)
                continue
            others = set(table["contract"].unique().to_pylist()) - {CONTRACT_HASH}
            if others:
                found.foreign[str(path)] = min(others)
            elif table.num_rows:
                found.sound.append(path)
    return found


_COLUMNS = ", ".join(f'"{name}"' for name in SCHEMA.names)
#: Parts as DuckDB's table, with each row's file; without the first option, values of folders of a
#: name such as t=5 or origin=a would take the place of columns.
PARTS_TABLE = "read_parquet($parts, hive_partitioning = false, filename = true)"
# A part that is found twice counts once; an idle queue's equal windows in one part are many.
_QUERY = f"""
    WITH numbered AS (
        SELECT {_COLUMNS}, row_number() OVER (PARTITION BY filename, {_COLUMNS}) AS nth
        FROM {PARTS_TABLE}
    ), plausible AS (
        SELECT DISTINCT * FROM numbered
        WHERE t >= $since AND t < $until
          AND list_min(signals) >= 0 AND list_max(signals) <= {_MAX_VALUE}
          AND list_min(later) >= 0 AND list_max(later) <= {_MAX_VALUE}
          AND list_min(highest) >= 0 AND list_max(highest) <= {_MAX_VALUE}
          AND origin <> '' AND device <> ''
    )
    SELECT {_COLUMNS} FROM plausible
    ORDER BY origin, device, qp, t, signals, later, highest, predicted
"""


def collect(
    folders: Iterable[Path],
    out: Path,
    *,
    since: int = 0,
    until: int = (1 << 62),
    skip_foreign: bool = False,
) -> dict[str, Any]:
    """Write a training set and its card.

    Parameters
    ----------
    folders : iterable of Path
        Telemetry of one or many agents.
    out : Path
        Folder of the set, made if it is not there.
    since, until : int
        Milliseconds of Unix time; the second is excluded.
    skip_foreign : bool
        Leave out parts of another contract instead of refusing all.

    Returns
    -------
    dict
        The card.

    Raises
    ------
    ForeignContractError
        Telemetry is for other number formats.
    FleetError
        There is no window, or an agent deleted parts meanwhile.
    ValueError
        A folder is none, or `out` is something else.
    """
    require_new(out, places.TRAINING_SET)
    given = list(folders)
    found = find_parts(given)
    if found.foreign and not skip_foreign:
        path, contract = next(iter(found.foreign.items()))
        raise ForeignContractError(
            f"telemetry must be for contract {CONTRACT_HASH:#010x}, but {path} is for "
            f"{contract:#010x}: leave it out with --skip-foreign"
        )
    if not found.sound and found.damaged:
        raise FleetError(
            f"no window in {', '.join(map(str, given))}: of {len(found.damaged)} damaged parts "
            f"the first: {next(iter(found.damaged.values()))}"
        )
    if not found.sound:
        raise FleetError(
            f"no window in {', '.join(map(str, given)) or 'no folder'}: telemetry is in the folder "
            "telemetry of an agent"
        )
    with duckdb.connect() as db:
        db.execute("SET enable_progress_bar = false")  # it would stand in the command's output
        parts = [spelled(path) for path in found.sound]
        options = {"parts": list(dict.fromkeys(parts)), "since": since, "until": until}
        try:
            result: Any = db.sql(_QUERY, params=options).to_arrow_table()
            rows = db.execute(f"SELECT count(*) FROM {PARTS_TABLE}", {"parts": parts})
            ((offered,),) = rows.fetchall()
        except duckdb.Error as error:
            raise FleetError(
                f"parts must stay as they are while they are read; collect again: {error}"
            ) from error
        table = result.cast(SCHEMA)
        if not table.num_rows:
            raise FleetError(f"no window between {since} and {until} ms is plausible")
        db.register("windows", table)
        card = _card(db, found, int(offered), table.num_rows)
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd", write_page_checksum=True)
    data = sink.getvalue().to_pybytes()
    card["sha256"] = hashlib.sha256(data).hexdigest()
    out.mkdir(parents=True, exist_ok=True)
    write_durably(out / WINDOWS, data)
    write_durably(out / CARD, (json.dumps(card, indent=1, sort_keys=True) + "\n").encode())
    return card


def _card(db: duckdb.DuckDBPyConnection, found: Found, offered: int, rows: int) -> dict[str, Any]:
    def one(sql: str) -> tuple[Any, ...]:
        (row,) = db.execute(sql).fetchall()
        return tuple(row)

    t0, t1, queues, destinations = one(
        "SELECT min(t), max(t), count(DISTINCT (origin, device, qp)), "
        "count(DISTINCT destination) FILTER (destination <> '') FROM windows"
    )
    origins = db.execute(
        "SELECT origin, count(*), min(t), max(t) FROM windows GROUP BY origin ORDER BY origin"
    ).fetchall()
    models = db.execute(
        "SELECT model, version, count(*) FROM windows GROUP BY ALL ORDER BY ALL"
    ).fetchall()
    ranges = {}
    for n, name in enumerate(_SIGNALS):
        column = f"list_extract(signals, {29 + n})"  # of the newest sample
        low, middle, high = one(
            f"SELECT min({column}), median({column}), max({column}) FROM windows"
        )
        ranges[name] = {"min": int(low), "median": float(middle), "max": int(high)}
    parts = Counter(str(path.parent) for path in found.sound)
    return {
        "contract": f"{CONTRACT_HASH:#010x}",
        "windows": rows,
        "queues": int(queues),
        "destinations": int(destinations),
        "t0": int(t0),
        "t1": int(t1),
        "ranges": ranges,
        "models": [
            {"crc32": f"{crc:#010x}", "version": version, "windows": count}
            for crc, version, count in models
        ],
        "origins": {
            origin: {"windows": count, "t0": first, "t1": last}
            for origin, count, first, last in origins
        },
        "parts": dict(sorted(parts.items())),
        "left_out": {
            "windows": offered - rows,
            "damaged": dict(sorted(found.damaged.items())),
            "foreign": {path: f"{crc:#010x}" for path, crc in sorted(found.foreign.items())},
        },
    }
