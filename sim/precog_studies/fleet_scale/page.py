"""The record as a page of Markdown."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["page"]

_TEMPLATE = "page.md.j2"


class _Column(NamedTuple):
    title: str
    key: str
    unit: float
    digits: int


_COLUMNS = (
    _Column("records in, 1/s", "records_s", 1, 1),
    _Column("records said, 1/s", "said_s", 1, 1),
    _Column("KB/s in", "bytes_in_s", 1e3, 1),
    _Column("KB/s out", "bytes_out_s", 1e3, 1),
    _Column("exchanges, 1/s", "exchanges_s", 1, 1),
    _Column("CPU, % of a core", "cpu_percent", 1, 2),
)


def _seconds(value: float | None) -> str:
    return "not reached" if value is None else f"{value:.1f}"


def _kilobytes(value: float | None) -> str:
    return "not reached" if value is None else f"{value / 1000:,.0f}"


def _share(value: float) -> str:
    return f"{value:.0%}"


def _ms(value: float | None) -> str:
    return "–" if value is None else f"{1000 * value:,.0f}"


def _cells(figures: Mapping[str, float]) -> str:
    return " | ".join(f"{figures[one.key] / one.unit:,.{one.digits}f}" for one in _COLUMNS)


_Form = Callable[[Any], str]
_EVENTS: Sequence[tuple[str, tuple[str, str], _Form]] = (
    (
        "a newcomer holds of its destinations what a neighbour does, s",
        ("newcomer", "destinations_s"),
        _seconds,
    ),
    ("... and knows all members, s", ("newcomer", "members_s"), _seconds),
    ("... received for that, KB", ("newcomer", "members_bytes"), _kilobytes),
    ("all know the newcomer, s", ("newcomer", "known_to_all_s"), _seconds),
    ("racks that are cut off", ("cut", "racks"), str),
    ("... for so long, s", ("cut", "length_s"), _seconds),
    ("destinations with an answer there, before", ("cut", "answered_before"), _share),
    ("... and at the end of the cut", ("cut", "answered_during"), _share),
    ("a revocation reaches the larger side, s", ("cut", "revoked_on_larger_side_s"), _seconds),
    ("... and the other one, s after the cut", ("cut", "revoked_s"), _seconds),
    ("all answers that there can be, s after the cut", ("cut", "answers_s"), _seconds),
    ("every follower has each newest report, s after the cut", ("cut", "complete_s"), _seconds),
    ("a dead publisher's reports count nowhere any more, s", ("dead", "silent_s"), _seconds),
)


def page(said: dict[str, Any], sizes: Sequence[int], record: str) -> str:
    """The tables, and what they say."""
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    fleet = said[str(sizes[-1])]["fleet"]
    # One report for each destination, health, and half a record of skill, a second.
    spoken = fleet["peers"] + fleet["used"] + 1.5
    everything = spoken * fleet["agents"]
    return environment.get_template(_TEMPLATE).render(
        **{name: said[name] for name in ("command", "commit", "seed", "costs", "real", "sampling")},
        record=record,
        fleet=fleet,
        sizes={f"{size:,}": said[str(size)] for size in sizes},
        columns=_COLUMNS,
        cells=_cells,
        ms=_ms,
        seconds=_seconds,
        value=lambda found, path: found[path[0]][path[1]],
        events=_EVENTS,
        said=spoken,
        said_all=f"{everything:,.0f}",
        cores=f"{everything * said['costs']['receive'] * 1e-6:.0f}",
    )
