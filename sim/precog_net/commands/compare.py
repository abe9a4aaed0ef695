"""``precog sim compare``: two laws, or two fabrics, over the same seeds."""

from pathlib import Path
from typing import Annotated, Any

import typer

from precog_host.output import JsonOption, emit, table


def compare(
    before: Annotated[str, typer.Argument(help="fabric.json, or fabric.json:LAW.", metavar="A")],
    after: Annotated[str, typer.Argument(help="The same for the other run.", metavar="B")],
    unfinished: Annotated[
        bool,
        typer.Option("--unfinished", help="Compare what has finished, though not all flows have."),
    ] = False,
    json_: JsonOption = False,
) -> None:
    """Compare results of precog sim fabric: B less A, by paired seeds, with 95 % intervals."""
    from precog_net.compare import SAME, paired

    (first, a), (second, b) = _chosen(before), _chosen(after)
    for name in SAME:
        if first[name] != second[name]:
            raise ValueError(
                f"{name} must be the same in both, not {first[name]!r} and {second[name]!r}: other "
                "flows cannot be paired"
            )
    for law, data in ((a, first), (b, second)):
        left = sum(run["flows"] - run["finished"] for run in data["results"][law]["seeds"])
        if left and not unfinished:
            raise ValueError(
                f"law {law} must have finished all flows, not all but {left}: its figures are of "
                "the others; give fabric a later --stop-ms, or --unfinished here"
            )
    found = paired(first["results"][a]["seeds"], second["results"][b]["seeds"])
    rows = [
        (
            kind,
            name,
            e["before"],
            e["after"],
            f"{e['mean']:+.4g} ± {e['half_width']:.2g}",
            e["sure"],
        )
        for kind, figures in found.items()
        for name, e in figures.items()
    ]
    seeds = len(first["results"][a]["seeds"])
    title = f"Slowdowns: {a} and {b}, {seeds} paired seeds"
    columns = ("class", "figure", a, b, "difference", "sure")
    emit(
        {"before": a, "after": b, "classes": found},
        lambda: table(columns, rows, title=title),
        json_,
    )


def _chosen(text: str) -> tuple[dict[str, Any], str]:
    """The data of a file, and a law in it."""
    from precog_models.limits import read_json
    from precog_net.compare import check_result

    name, _, law = text.partition(".json:")
    path = Path(name + ".json" if law else text)
    try:
        data = read_json(path)
        check_result(data)
    except ValueError as error:
        raise ValueError(
            f"file {path} must be a result of precog sim fabric, but {error}"
        ) from error
    laws = list(data["results"])
    if not law and len(laws) > 1:
        raise ValueError(
            f"file {path} has the laws {', '.join(laws)}: say which, as {path}:{laws[0]}"
        )
    law = law or laws[0]
    if law not in laws:
        raise ValueError(f"law must be one of {', '.join(laws)} in {path}, not {law!r}")
    return data, law
