"""``precog model``: model images and the device's model sets."""

import dataclasses
from pathlib import Path
from typing import Annotated

import typer

from precog_host.commands.distill import distill
from precog_host.commands.fit_queues import fit_queues
from precog_host.output import (
    DeviceOption,
    JsonOption,
    emit,
    group,
    refuse_ignored,
    table,
)

app = group("Model images and model sets.")
app.command("fit-queues")(fit_queues)
app.command()(distill)

_ModelArgument = Annotated[str, typer.Argument(help="Model file, or the name of a shipped model.")]


@app.command()
def load(
    model: _ModelArgument,
    slot: Annotated[int, typer.Option(help="Slot of the model map.")] = 0,
    set_: Annotated[int | None, typer.Option("--set", help="Set; a free one by default.")] = None,
    queue: Annotated[
        bool, typer.Option("--queue", help="A model of queues; loads its calibration, too.")
    ] = False,
    device: DeviceOption = "emu:",
    json_: JsonOption = False,
) -> None:
    """Load a model into a free set, check it there, and map a slot to it.

    Every command opens its device anew: what is loaded into emu: or sim: is gone when it ends.
    """
    from precog_host.device import Device
    from precog_models.tree_image import find_any

    image = find_any(model)
    with Device.open(device) as opened:
        loaded = opened.model.load(image, slot=slot, set=set_, queue=queue)
    data = dataclasses.asdict(loaded) | {"crc32": f"{image.crc32:#010x}"}
    emit(
        data,
        lambda: typer.echo(
            f"model version {loaded.version} is live: set {loaded.set}, slot {slot}, "
            f"CRC {image.crc32:#010x}"
        ),
        json_,
    )


@app.command("del")
def del_(
    slot: Annotated[int, typer.Argument(help="Slot of the model map.")],
    device: DeviceOption = "emu:",
    json_: JsonOption = False,
) -> None:
    """Take a slot's model away: its queue pairs run the base law, and the set is free."""
    from precog_host.device import Device

    with Device.open(device) as opened:
        opened.model.unmap_slot(slot)
    emit({"slot": slot}, lambda: typer.echo(f"slot {slot} has no model"), json_)


@app.command()
def show(
    context: typer.Context,
    model: Annotated[
        str | None, typer.Argument(help="Model file, or the name of a shipped model.")
    ] = None,
    evaluation: Annotated[
        Path | None,
        typer.Option(help="Record of precog model evaluate; by default the one next to the model."),
    ] = None,
    device: DeviceOption = "emu:",
    json_: JsonOption = False,
) -> None:
    """Show a device's model sets and the models shipped with this package, or a model's image.

    Every command opens its device anew: the sets of emu: and sim: are empty at first.
    """
    if model is None:
        refuse_ignored(context, "evaluation", why="without a model")
        _show_sets(device, json_)
    else:
        refuse_ignored(context, "device", why="with a model")
        _show_image(model, evaluation, json_)


def _show_sets(device: str, json_: bool) -> None:
    from precog_host.device import Device
    from precog_models.image import pretrained_names

    with Device.open(device) as opened:
        sets = opened.model.sets()
    shipped = pretrained_names()

    def draw() -> None:
        rows = [(s.set, s.valid, s.version if s.valid else None, s.slots) for s in sets]
        table(("set", "valid", "version", "slots"), rows)
        typer.echo(f"shipped: {', '.join(shipped) or 'none'}")

    emit({"sets": [dataclasses.asdict(s) for s in sets], "shipped": shipped}, draw, json_)


def _show_image(model: str, evaluation: Path | None, json_: bool) -> None:
    from precog_host.commands.model_card import draw, find_evaluation
    from precog_models.judged import verdict_of
    from precog_models.tree_image import find_any

    image = find_any(model)
    meta = image.metadata()
    judged = find_evaluation(model, evaluation, image.to_bytes())
    data = dict(meta)
    if judged is not None:
        data |= {"evaluation": judged, "verdict": verdict_of(judged)}
    emit(data, lambda: draw(meta, judged), json_)


@app.command()
def quantize(
    source: Annotated[
        Path, typer.Argument(help="torch state dict (.pt) or ONNX graph (.onnx).", exists=True)
    ],
    output: Annotated[Path, typer.Option("-o", "--output", help="Model image to write.")],
    steps: Annotated[int, typer.Option(help="Window length T.")] = 3,
    version: Annotated[
        int, typer.Option(min=0, max=0xFFFF_FFFF, help="Version in the image's header.")
    ] = 1,
    json_: JsonOption = False,
) -> None:
    """Turn float LSTM weights into an integer model image."""
    from precog_models.durable import check_target
    from precog_models.quantize import quantize as to_image

    check_target(output)
    if source.suffix == ".onnx":
        from precog_models.importer.onnx_lstm import load_onnx

        model = load_onnx(source, steps=steps)
    else:
        from precog_models.importer.torch_state import load_torch

        model = load_torch(source, steps=steps)
    try:
        image = to_image(model, card={"source": source.name}, version=version)
    except ValueError as error:
        raise ValueError(f"{source}: {error}") from error
    saturated = image.card["quantization"]["saturated_biases"]
    if saturated:
        raise ValueError(
            f"{source}: every bias must lie inside of -16..16 (gates) or -8..8 (head), "
            f"{saturated} do not: train with weight decay"
        )
    image.save(output)
    meta = image.metadata() | {"path": str(output)}
    emit(
        meta,
        lambda: typer.echo(f"{output}: version {version}, CRC {meta['payload_crc32']}"),
        json_,
    )
