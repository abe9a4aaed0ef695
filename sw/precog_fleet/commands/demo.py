"""``precog fleet demo``: the whole loop on this machine, measured."""

import json
import sys
import tempfile
from pathlib import Path
from typing import Annotated, Any

import typer

from precog_host.output import JsonOption, emit

from ..errors import needs

__all__ = ["demo"]


def demo(
    out: Annotated[Path | None, typer.Option("-o", "--out", help="Write the figures here.")] = None,
    agents: Annotated[int, typer.Option(min=2, max=100, help="Each with an emulated card.")] = 20,
    seed: Annotated[int, typer.Option(min=0, max=10_000_000, help="Of the traffic.")] = 1,
    folder: Annotated[
        Path | None, typer.Option(help="Keep all members' folders here; a new folder.")
    ] = None,
    json_: JsonOption = False,
) -> None:
    """Run agents on simulated traffic: telemetry, training, rollout, drift, a bad release, lies."""
    with needs("fleet,train,sim"):
        from precog_models.durable import check_target, write_durably

        from ..demo.script import Demo
        from ..demo.traffic import simulator
        from ..errors import FleetError
        from ..evaluate import closed_loop
        from ..places import require_new

    if folder is not None:
        require_new(folder)
        if folder.exists() and any(folder.iterdir()):
            raise ValueError(f"folder must be new, but {folder} has other files")
    if out is not None:
        check_target(out)

    def say(text: str) -> None:
        typer.echo(text, err=True)
        sys.stderr.flush()

    with tempfile.TemporaryDirectory(prefix="precog-fleet-") as scratch:
        place = Path(scratch) / "fleet" if folder is None else folder
        made = Demo(place, simulator(), closed_loop(), agents=agents, seed=seed, say=say)
        found = made.run()
    if out is not None:
        text = json.dumps(found, indent=1, sort_keys=True, allow_nan=False) + "\n"
        write_durably(out, text.encode())
    emit(found, lambda: _show(found), json_)
    if found["failed"]:
        raise FleetError(f"demo did not hold: {'; '.join(found['failed'])}")


def _show(found: dict[str, Any]) -> None:
    for name in ("skill", "drift"):
        gain = found[name]["gain"]
        typer.echo(
            f"{name}: gain {gain['value']:.3f}, 95 % interval {gain['low']:.3f} to "
            f"{gain['high']:.3f}, on {found['agents']} agents' own traffic"
        )
    took = found["converge_s"]
    typer.echo(
        f"records reached all agents in {took['p50']:.2f} s (median), {took['max']:.2f} s at most; "
        f"{found['bytes_per_agent_s']:.0f} bytes/s an agent; {found['lost_records']} lost"
    )
    typer.echo(
        f"{found['forged']['accepted']} of {found['forged']['sent']} forged records accepted; "
        f"bad release taken back in {found['rollback_s']:.1f} s"
    )
