"""Commands of ``precog law`` on a device: which programs its law engine has, and where."""

import dataclasses
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from precog_host.output import (
    DeviceOption,
    JsonOption,
    emit,
    parameters_given,
    require_one,
    table,
    whole_numbers,
)
from precog_host.units import from_real

from .parts import open_part

if TYPE_CHECKING:
    from precog_host.device import Device
    from precog_host.driver.law import LawDriver, LawState
    from precog_models.rate.engine.program import Program

__all__ = ["del_", "list_", "load", "set_"]


def _engine(device: str) -> "AbstractContextManager[tuple[Device, LawDriver]]":
    """The device that a URI names, and its law engine."""
    return open_part(
        device,
        lambda opened: None if opened.law is None else (opened, opened.law),
        f"device {device} has no law engine: it was built without (law_cores=0)",
    )


def _program(
    law: str, preset: str, tick_ps: int, given: dict[str, float]
) -> "tuple[Program, dict[str, int | list[int]]]":
    """A law's program and its parameters, integers."""
    from precog_models.laws.compiler.compile import compile_law
    from precog_models.laws.compiler.load import load as load_law
    from precog_models.limits import FOREIGN_BYTES, read_at_most
    from precog_models.rate.engine.program import Program

    path = Path(law)
    if path.suffix not in ("", ".py") and not path.is_file():
        raise ValueError(f"program {path} must be a file of precog law compile: there is none")
    if path.suffix == ".py" or not path.is_file():
        made = compile_law(load_law(law))
        return made.program, made.law.integers(preset, tick_ps, **given)
    raw = read_at_most(path, FOREIGN_BYTES)
    try:
        program = Program.read(raw)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
    if preset != "default":
        raise ValueError("preset must be left out with a compiled program: give name=integer")
    return program, dict(whole_numbers(given))


def load(
    law: Annotated[str, typer.Argument(help="A law's name, a .py file, or a compiled program.")],
    assignments: Annotated[
        list[str] | None, typer.Argument(help="Parameters, name=value.", metavar="[NAME=VALUE]...")
    ] = None,
    slot: Annotated[int, typer.Option(help="Slot that is to stand for it.")] = 0,
    preset: Annotated[str, typer.Option(help="Parameters; see precog law show.")] = "default",
    device: DeviceOption = "emu:",
    json_: JsonOption = False,
) -> None:
    """Load a law into a slot while traffic flows; if it is refused, what was there stays."""
    given = parameters_given(assignments or ())
    with _engine(device) as (opened, engine):
        program, values = _program(law, preset, opened.tick_ps, given)
        loaded = engine.load(program, values, slot=slot)
    emit(
        dataclasses.asdict(loaded),
        lambda: typer.echo(f"law {loaded.law} is live: slot {loaded.slot}, bank {loaded.bank}"),
        json_,
    )


def list_(device: DeviceOption = "emu:", json_: JsonOption = False) -> None:
    """Show a device's law engine: its slots, and what happened in it."""
    with _engine(device) as (_, engine):
        state = engine.state()
    emit(dataclasses.asdict(state), lambda: _show(state), json_)


def set_(
    budget: Annotated[int | None, typer.Option(help="Most turns of an event.")] = None,
    threshold_us: Annotated[
        float | None, typer.Option(help="RTT above which no rate and no window rises.")
    ] = None,
    timer_us: Annotated[
        float | None,
        typer.Option(help="Time in which programs hear four times that it has passed."),
    ] = None,
    device: DeviceOption = "emu:",
    json_: JsonOption = False,
) -> None:
    """Set the bounds that a device keeps whatever its programs say, and their timer."""
    require_one(budget=budget, threshold_us=threshold_us, timer_us=timer_us)
    with _engine(device) as (opened, engine):
        threshold, timer = (
            None
            if given is None
            else from_real(
                opened.registers.register("LAW", name.upper()).field(name), given, opened.tick_ps
            )
            for name, given in (("threshold", threshold_us), ("timer", timer_us))
        )
        engine.configure(budget=budget, threshold_ticks=threshold, timer_ticks=timer)
        state = engine.state()
    emit(dataclasses.asdict(state), lambda: _show(state), json_)


def del_(
    slot: Annotated[int, typer.Argument(help="Slot.")],
    device: DeviceOption = "emu:",
    json_: JsonOption = False,
) -> None:
    """Take a slot's program away: its queue pairs run the safe law."""
    from precog_host import pairs

    with _engine(device) as (opened, engine):
        engine.unload(slot)
        users = [one.qp for one in pairs.states(opened) if one.algorithm == f"law:{slot}"]
    said = f"law slot {slot} has no program"
    if users:
        said += f"; QP {', '.join(map(str, users))} run{'s' * (len(users) == 1)} the safe law"
    emit({"slot": slot, "qps": users}, lambda: typer.echo(said), json_)


def _show(state: "LawState") -> None:
    cores = f"{state.cores} core{'s' * (state.cores != 1)}"
    passes = "programs do not hear that time passes"
    if state.timer_ticks:
        passes = f"time passes four times in {state.timer_ticks} ticks"
    typer.echo(
        f"{cores}, instruction set {state.isa}, {state.code_words} instructions and "
        f"{state.memory_words} words a program; {state.budget} turns an event at most; nothing "
        f"rises above {state.threshold_ticks} ticks; {passes}"
    )
    if state.trap is not None:
        typer.echo(f"last trap: {state.trap['status']} in slot {state.trap['slot']}")
    rows = [
        (
            *(one.slot, one.law, one.bank, f"{one.version:#010x}" if one.law else None),
            "by a trap" if one.trapped else "by a double error" if one.damaged else None,
        )
        for one in state.slots
    ]
    table(("slot", "law", "bank", "version", "disabled"), rows)
    table(("counter", "events"), list(state.counters.items()))
