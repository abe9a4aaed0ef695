"""A model's card: its metadata, and what `precog model evaluate` found of it."""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeGuard

import typer

from precog_host.output import printable, table
from precog_models.judged import find_record, read_record, verdict_of

__all__ = ["draw", "draw_evaluation", "find_evaluation"]

_TITLES = {
    "alone": "model",
    "live": "model / live",
    "persistence": "model / persistence",
    "inverted": "inverted",
    "random": "random",
    "stale": "stale",
    "rising": "rising",
    "falling": "falling",
    "untried": "inverted, untried",
}


def find_evaluation(model: str, path: Path | None, image: bytes) -> dict[str, Any] | None:
    """The record of an image's evaluation: the one at `path`, or the one that comes with the model.

    Raises
    ------
    ValueError
        There is no file at `path`, it is no record, it was edited, or it is another image's.
    """
    digest = hashlib.sha256(image).hexdigest()
    found = path or find_record(digest, model)
    return None if found is None else read_record(found, digest)


def draw(meta: dict[str, Any], judged: dict[str, Any] | None) -> None:
    """Print the metadata of an image, and the closed loop's figures if it was judged."""
    arch = meta["architecture"]
    is_tree = arch["cell"] == "tree"
    size = f"of depth {arch['depth']}, " if is_tree else ""
    size += "-".join(str(arch[n]) for n in ("inputs", "hidden", "outputs") if n in arch)
    typer.echo(
        f"{arch['cell']} {size}, "
        f"{arch['steps']} steps, head {arch['head']}, version {meta['version']}"
    )
    typer.echo(f"contract {meta['contract_hash']}, CRC {meta['payload_crc32']}")
    card = dict(meta["card"])
    errors = card.get("errors")
    if not _is_error_table(errors):
        table(("data card", ""), sorted(_flat(card)))
    else:
        del card["errors"]
        table(("data card", ""), sorted(_flat(card)))
        methods = sorted({method for group in errors.values() for method in group})
        table(
            ("test MAPE, %", *methods),
            [
                (name, *(group.get(method, {}).get("balanced") for method in methods))
                for name, group in errors.items()
            ],
        )
    if judged is not None:
        draw_evaluation(judged)
    else:
        typer.echo("closed loop: not judged; precog model evaluate makes a record")


def draw_evaluation(found: dict[str, Any]) -> None:
    """Print offline and closed-loop figures of a model, and the verdict."""
    loop = found["closed_loop"]
    columns = ("data", "error", "persistence", "skill")
    rows = [tuple(one.get(name) for name in columns) for one in found["offline"]]
    table(columns, rows, title="Offline")
    rows = []
    shown = {key: text for key, text in _TITLES.items() if any(key in r for r in loop["results"])}
    for one in loop["results"]:
        for name in one["alone"]:
            cells = (_text(one[key][name]) if key in one else "" for key in shown)
            rows.append((one["network"], one["law"], name, *cells))
    title = f"Closed loop: ratios to no prediction, 95 % intervals, {loop['seeds']} paired seeds"
    presets = sorted({one["psched"] for one in loop["results"] if "psched" in one})
    if presets:
        title += f"; scores move rates by PSCHED's preset {', '.join(presets)}"
    table(("scenario", "law", "measure", *shown.values()), rows, title=title)
    typer.echo(printable(f"image {found['image'][:16]}: {verdict_of(found)}"))
    typer.echo(printable(f"commit {found['commit']}: {found['command']}"))


def _text(ratio: dict[str, float | None]) -> str:
    if None in (ratio["mean"], ratio["low"], ratio["high"]):
        return "-"
    return f"{ratio['mean']:.3f} [{ratio['low']:.3f}, {ratio['high']:.3f}]"


def _is_error_table(errors: object) -> TypeGuard[dict[str, dict[str, dict[str, Any]]]]:
    """Whether a card's errors are what `precog model train` writes: group, method, figures."""
    return isinstance(errors, dict) and all(
        isinstance(group, dict) and all(isinstance(figures, dict) for figures in group.values())
        for group in errors.values()
    )


def _flat(card: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """The leaves of nested objects, with dotted names."""
    for key, value in card.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", str(value)
