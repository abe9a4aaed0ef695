"""``precog ecc``: check bits of the stored models and programs."""

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Annotated

import typer

from precog_host.output import DeviceOption, JsonOption, emit, group, require_one, table

from .parts import open_part

if TYPE_CHECKING:
    from precog_host.device import Device
    from precog_host.driver.ecc import EccDriver, EccState

__all__ = ["app"]

app = group("Check bits of the stored models and programs.")
_program = group("Check bits of a law engine's programs.")
app.add_typer(_program, name="program")


def _guarding(device: str) -> "AbstractContextManager[tuple[Device, EccDriver]]":
    """The device that a URI names, and its check bits."""
    return open_part(
        device,
        lambda opened: None if opened.ecc is None else (opened, opened.ecc),
        f"device {device} has no check bits: it was built without (ecc=0)",
    )


@app.command()
def show(device: DeviceOption = "emu:", json_: JsonOption = False) -> None:
    """Show the scrubber's settings and the errors that it has found."""
    with _guarding(device) as (_, guarding):
        state = guarding.state()
    emit(state, lambda: _show(state), json_)


@app.command("set")
def set_(
    enable: Annotated[
        bool | None,
        typer.Option("--on/--off", help="Walk over sets and programs all the time, or not."),
    ] = None,
    period: Annotated[
        int | None, typer.Option(help="Cycles between two pairs of stored words.")
    ] = None,
    device: DeviceOption = "emu:",
    json_: JsonOption = False,
) -> None:
    """Set whether and how fast the scrubber walks over models and programs."""
    require_one(on=enable, period=period)
    with _guarding(device) as (_, guarding):
        guarding.configure(enable=enable, period_cycles=period)
        state = guarding.state()
    emit(state, lambda: _show(state), json_)


@app.command()
def scrub(device: DeviceOption = "emu:", json_: JsonOption = False) -> None:
    """Check all stored words now, and correct what can be corrected."""
    with _guarding(device) as (_, guarding):
        guarding.scrub()
        state = guarding.state()
    emit(state, lambda: _show(state), json_)


@app.command()
def inject(
    number: Annotated[int, typer.Argument(metavar="SET", help="Set.")],
    row: Annotated[int, typer.Argument(help="Row of the image, 0..31.")],
    word: Annotated[int, typer.Argument(help="Word of the row, 0..15.")],
    bits: Annotated[list[int], typer.Argument(help="One bit or two, 0..35; from 32 check bits.")],
    second: Annotated[
        bool, typer.Option("--second", help="In the copy of rows 24..26 next to the MAC array.")
    ] = False,
    tree: Annotated[
        bool, typer.Option("--tree", help="In the copy of rows 0..30 that trees are read from.")
    ] = False,
    model: Annotated[
        str | None, typer.Option(help="Load this model into the set first, for slot 0.")
    ] = None,
    device: DeviceOption = "emu:",
    json_: JsonOption = False,
) -> None:
    """Flip bits of a stored word and let the device find them: one is corrected, two disable the
    set, and its queue pairs run the base law until a model is loaded again.

    No prediction is made with the flipped word. What emu: and sim: hold ends with the command, so
    that they need --model.
    """
    from precog_models.tree_image import find_any
    from precog_spec.contract import HeadKind

    image = None if model is None else find_any(model)
    with _guarding(device) as (opened, guarding):
        guarding.check_place(number, row, word, tuple(bits), second=second, tree=tree)
        if image is not None:
            opened.model.load(image, set=number, queue=image.header.kind is HeadKind.QUEUE)
        found = guarding.inject(number, row, word, tuple(bits), second=second, tree=tree)
        state = guarding.state()

    def show() -> None:
        what = "set disabled" if found.double else f"bit {found.bit} corrected"
        typer.echo(f"found in set {found.set}, row {found.row}, word {found.word}: {what}")
        _show(state)

    emit({"found": found, "state": state}, show, json_)


@_program.command("inject")
def inject_program(
    bank: Annotated[int, typer.Argument(help="Bank, as precog law list shows it.")],
    word: Annotated[
        int, typer.Argument(help="0..1023 instructions, 1024..1535 parameters, 1536..1541 entries.")
    ],
    bits: Annotated[
        list[int], typer.Argument(help="One bit or two: 32, 48 or 11 of data, then 8 check bits.")
    ],
    core: Annotated[int, typer.Option(help="In the copy of this core.")] = 0,
    law: Annotated[
        str | None, typer.Option(help="Load this law into slot 0 first, with its defaults.")
    ] = None,
    device: DeviceOption = "emu:",
    json_: JsonOption = False,
) -> None:
    """Flip bits of a program's word and let the device find them: one is corrected, two disable the
    slots of the bank, and their queue pairs run the safe law until a law is loaded again.

    An event that needs the flipped word holds its rate. What emu: and sim: hold ends with the
    command, so that they need --law.
    """
    with _guarding(device) as (opened, guarding):
        guarding.check_program(bank, word, tuple(bits), core=core)
        if law is not None and opened.law is not None:
            from precog_models.laws.compiler.compile import compile_law
            from precog_models.laws.compiler.load import load

            made = compile_law(load(law))
            opened.law.load(made.program, made.law.integers("default", opened.tick_ps), slot=0)
        found = guarding.inject_program(bank, word, tuple(bits), core=core)
        state = guarding.state()

    def show() -> None:
        what = "program disabled" if found.double else f"bit {found.bit} corrected"
        typer.echo(f"found in bank {found.bank}, word {found.word}, core {found.core}: {what}")
        _show(state)

    emit({"found": found, "state": state}, show, json_)


def _show(state: "EccState") -> None:
    if state.sets:
        rows = [(one.set, one.corrected, one.disabled) for one in state.sets]
        table(("set", "corrected", "disabled"), rows)
    if state.programs:
        banks = [(one.bank, one.corrected, one.disabled) for one in state.programs]
        table(("bank", "corrected", "disabled"), banks)
    counters = ", ".join(f"{count} {name}" for name, count in state.counters.items())
    walk = f"every {state.period_cycles} cycles" if state.enabled else "only on demand"
    typer.echo(f"pairs are checked {walk}; {counters}")
