"""``precog qp receive`` and ``precog cc receive``: what congestion scores that packets bring do."""

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from precog_host.output import DeviceOption, JsonOption, emit, table
from precog_host.transport import DeviceError

if TYPE_CHECKING:
    from precog_host.receiving import Receiving

__all__ = ["all_pairs", "queue_pairs"]


@contextmanager
def _receiving(device: str) -> "Iterator[Receiving]":
    """The receiver of the device that a URI names."""
    from precog_host.device import Device

    with Device.open(device) as opened:
        if opened.receiving is None:
            raise DeviceError(
                f"device {device} has no receiver: it was built without one; "
                "try emu:width=64,receiver=1"
            )
        yield opened.receiving


def queue_pairs(
    numbers: Annotated[
        list[int] | None, typer.Argument(help="QP slots; by default all, to be shown.")
    ] = None,
    commands: Annotated[
        bool | None, typer.Option(help="Bands command the law, which must run PSCHED.")
    ] = None,
    boosts: Annotated[bool | None, typer.Option(help="High: the priority rises.")] = None,
    grows: Annotated[bool | None, typer.Option(help="High: the quota grows.")] = None,
    quota: Annotated[int | None, typer.Option(help="Quota outside the high band, cells.")] = None,
    device: DeviceOption = "emu:",
    json_: JsonOption = False,
) -> None:
    """Show what the bands of congestion scores do for queue pairs, after setting what is given."""
    changes = (commands, boosts, grows, quota)
    sets = any(value is not None for value in changes)
    if sets and not numbers:
        raise ValueError("QP slots must be named with --commands, --boosts, --grows or --quota")
    with _receiving(device) as receiving:
        wanted = list(dict.fromkeys(numbers or range(receiving.registers.sizes.qps)))
        rows = [receiving.qp(qp) for qp in wanted]  # all exist before one is written
        if sets:
            for qp in wanted:
                receiving.configure(
                    qp, commands=commands, boosts=boosts, grows=grows, base_quota=quota
                )
            rows = [receiving.qp(qp) for qp in wanted]
    shown = [dataclasses.asdict(row) for row in rows]
    titles = ("qp", "commands", "boosts", "grows", "base_quota")
    emit(
        shown, lambda: table(titles, [tuple(row[name] for name in titles) for row in shown]), json_
    )


def all_pairs(
    assignments: Annotated[
        list[str] | None, typer.Argument(help="name=value.", metavar="NAME=VALUE")
    ] = None,
    device: DeviceOption = "emu:",
    json_: JsonOption = False,
) -> None:
    """Show the receiver's parameters and counters, after setting what is given."""
    values: dict[str, float] = {}
    for text in assignments or ():
        name, _, number = text.partition("=")
        try:
            values[name] = float(number)
        except ValueError:
            raise ValueError(f"parameter must be <name>=<number>, not {text!r}") from None
    with _receiving(device) as receiving:
        receiving.set_parameters(**values)
        parameters, counters = receiving.parameters(), receiving.counters()

    def draw() -> None:
        table(("parameter", "value"), list(parameters.items()))
        table(("counter", "value"), list(counters.items()))

    emit({"parameters": parameters, "counters": counters}, draw, json_)
