"""``precog qp``: queue pairs of a device."""

import dataclasses
from typing import Annotated

import typer

from precog_host.output import DeviceOption, JsonOption, emit, table

from . import forecast, pace, qp_import, queue, receive

app = typer.Typer(help="Queue pairs.", no_args_is_help=True, rich_markup_mode=None)
app.command("pace")(pace.queue_pairs)
app.command("queue")(queue.queue_pairs)
app.command("forecast")(forecast.queue_pairs)
app.command("receive")(receive.queue_pairs)
app.command("import")(qp_import.import_)

_COLUMNS = (
    ("qp", "qp"),
    ("algorithm", "algorithm"),
    ("model_slot", "slot"),
    ("samples", "samples"),
    ("rate_gbps", "rate Gb/s"),
    ("window_bytes", "window B"),
    ("srtt_us", "srtt µs"),
    ("rtt_pred_us", "pred µs"),
    ("target_us", "target µs"),
    ("base_us", "base µs"),
    ("flags", "flags"),
)


@app.command()
def show(
    numbers: Annotated[
        list[int] | None, typer.Argument(help="QP slots; by default all that are enabled.")
    ] = None,
    device: DeviceOption = "emu:",
    json_: JsonOption = False,
) -> None:
    """Show configuration and last decision of queue pairs."""
    from precog_host.device import Device

    with Device.open(device) as opened:
        wanted = numbers or range(opened.sizes.qps)
        states = [opened.qp(number).status() for number in wanted]
    if not numbers:
        states = [state for state in states if state.enable]
    rows = [tuple(getattr(state, name) for name, _ in _COLUMNS) for state in states]

    def draw() -> None:
        if rows:
            table([title for _, title in _COLUMNS], rows)
        else:
            typer.echo("no queue pair is enabled")

    emit([dataclasses.asdict(state) for state in states], draw, json_)
