"""``precog cc trials``: what following advice was worth."""

from typing import TYPE_CHECKING

from precog_host.output import DeviceOption, JsonOption, emit, group, table
from precog_spec.trial_fields import TRIAL_KINDS

from .parts import open_part

if TYPE_CHECKING:
    from precog_host.driver.trials import Trial

__all__ = ["app"]

app = group("Trials of advice: whether following it lowers delay x time.")
_TITLES = ("advice", "verdict", "arm", "samples", "delay_us", "rate_gbps", "delay x time")


@app.command()
def show(device: DeviceOption = "emu:", json_: JsonOption = False) -> None:
    """Show the verdict on each kind of advice, and what both arms have measured."""
    import dataclasses

    with open_part(
        device,
        lambda opened: opened.trials,
        f"device {device} tries no advice: it was built without trials; try emu:trials=1",
    ) as trials:
        found = [trials.found(kind) for kind in TRIAL_KINDS]
    rows = [row for one in found for row in _rows(one)]
    emit([dataclasses.asdict(one) for one in found], lambda: table(_TITLES, rows), json_)


def _rows(found: "Trial") -> list[tuple[object, ...]]:
    arms = (("follow", found.follow, found.ratio), ("hold", found.hold, None))
    return [
        (found.advice, found.verdict, name, arm.samples, arm.delay_us, arm.rate_gbps, ratio)
        for name, arm, ratio in arms
    ]
