"""``precog model scrub`` and ``precog model inject``: check bits of the stored models."""

from typing import TYPE_CHECKING, Annotated

import typer

from precog_host.output import DeviceOption, JsonOption, emit, table
from precog_host.transport import DeviceError

if TYPE_CHECKING:
    from precog_host.device import Device
    from precog_host.guarding import Guarding, GuardState

__all__ = ["inject", "scrub"]


def scrub(
    enable: Annotated[
        bool | None, typer.Option("--on/--off", help="Walk over the sets all the time, or not.")
    ] = None,
    period: Annotated[
        int | None, typer.Option(help="Cycles between two pairs of stored words.")
    ] = None,
    device: DeviceOption = "emu:",
    json_: JsonOption = False,
) -> None:
    """Check all stored words of a device's models now, and show what its scrubber has found."""
    from precog_host.device import Device

    with Device.open(device) as opened:
        guarding = _guarding(opened, device)
        guarding.configure(enable=enable, period_cycles=period)
        guarding.scrub()
        state = guarding.state()
    emit(state, lambda: _show(state), json_)


def inject(
    number: Annotated[int, typer.Argument(metavar="SET", help="Set.")],
    row: Annotated[int, typer.Argument(help="Row of the image, 0..31.")],
    word: Annotated[int, typer.Argument(help="Word of the row, 0..15.")],
    bits: Annotated[list[int], typer.Argument(help="One bit or two, 0..35; from 32 check bits.")],
    second: Annotated[
        bool, typer.Option("--second", help="In the copy of rows 24..26 beside the MAC array.")
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
    from precog_host.device import Device
    from precog_models.contract import HeadKind
    from precog_models.tree_image import find_any

    with Device.open(device) as opened:
        guarding = _guarding(opened, device)
        if model is not None:
            image = find_any(model)
            opened.load_model(image, set=number, queue=image.header.kind is HeadKind.QUEUE)
        found = guarding.inject(number, row, word, tuple(bits), second=second, tree=tree)
        state = guarding.state()

    def show() -> None:
        what = "set disabled" if found.double else f"bit {found.bit} corrected"
        typer.echo(f"found in set {found.set}, row {found.row}, word {found.word}: {what}")
        _show(state)

    emit({"found": found, "state": state}, show, json_)


def _guarding(opened: "Device", device: str) -> "Guarding":
    if opened.guarding is None:
        raise DeviceError(f"device {device} has no check bits: it was built without (ecc=0)")
    return opened.guarding


def _show(state: "GuardState") -> None:
    if state.sets:
        rows = [(one.set, one.corrected, one.disabled) for one in state.sets]
        table(("set", "corrected", "disabled"), rows)
    counters = ", ".join(f"{count} {name}" for name, count in state.counters.items())
    walk = f"every {state.period_cycles} cycles" if state.enabled else "only when asked to"
    typer.echo(f"pairs are checked {walk}; {counters}")
