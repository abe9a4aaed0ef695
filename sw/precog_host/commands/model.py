"""``precog model``: model images and the device's model sets."""

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from precog_host.output import DeviceOption, JsonOption, emit, table

if TYPE_CHECKING:
    from precog_models.image import Image

app = typer.Typer(help="Model images and model sets.", no_args_is_help=True, rich_markup_mode=None)

_ModelArgument = Annotated[str, typer.Argument(help="Model file, or the name of a shipped model.")]


@app.command()
def load(
    model: _ModelArgument,
    slot: Annotated[int, typer.Option(help="Slot of the model map.")] = 0,
    set_: Annotated[int | None, typer.Option("--set", help="Set; a free one by default.")] = None,
    device: DeviceOption = "emu:",
    json_: JsonOption = False,
) -> None:
    """Load a model into a free set, check it there, and map a slot to it."""
    from precog_host.device import Device

    image = _image(model)
    with Device.open(device) as opened:
        loaded = opened.load_model(image, slot=slot, set=set_)
    data = dataclasses.asdict(loaded) | {"crc32": f"{image.crc32:#010x}"}
    emit(
        data,
        lambda: typer.echo(
            f"model version {loaded.version} is live: set {loaded.set}, slot {slot}, "
            f"CRC {image.crc32:#010x}"
        ),
        json_,
    )


@app.command("list")
def list_(device: DeviceOption = "emu:", json_: JsonOption = False) -> None:
    """List the device's model sets and the models shipped with this package."""
    from precog_host.device import Device
    from precog_models.image import pretrained_names

    with Device.open(device) as opened:
        sets = opened.models()
    shipped = pretrained_names()

    def show() -> None:
        rows = [(s.set, s.valid, s.version if s.valid else None, s.slots) for s in sets]
        table(("set", "valid", "version", "slots"), rows)
        typer.echo(f"shipped: {', '.join(shipped) or 'none'}")

    emit({"sets": [dataclasses.asdict(s) for s in sets], "shipped": shipped}, show, json_)


@app.command()
def info(model: _ModelArgument, json_: JsonOption = False) -> None:
    """Show what a model image says about itself."""
    meta = _image(model).metadata()

    def show() -> None:
        arch = meta["architecture"]
        typer.echo(
            f"{arch['cell']} {arch['inputs']}-{arch['hidden']}-{arch['outputs']}, "
            f"{arch['steps']} steps, head {arch['head']}, version {meta['version']}"
        )
        typer.echo(f"contract {meta['contract_hash']}, CRC {meta['payload_crc32']}")
        card = dict(meta["card"])
        errors = card.pop("errors", None)
        table(("data card", ""), sorted(_flat(card)))
        if isinstance(errors, dict):
            methods = sorted({method for group in errors.values() for method in group})
            table(
                ("test MAPE, %", *methods),
                [
                    (name, *(group.get(method, {}).get("balanced") for method in methods))
                    for name, group in errors.items()
                ],
            )

    emit(meta, show, json_)


@app.command()
def quantize(
    source: Annotated[
        Path, typer.Argument(help="torch state dict (.pt) or ONNX graph (.onnx).", exists=True)
    ],
    output: Annotated[Path, typer.Option("-o", "--output", help="Model image to write.")],
    steps: Annotated[int, typer.Option(help="Window length T.")] = 3,
    version: Annotated[int, typer.Option(help="Version in the image's header.")] = 1,
    json_: JsonOption = False,
) -> None:
    """Turn float LSTM weights into an integer model image."""
    from precog_models.quantize import quantize as to_image

    if source.suffix == ".onnx":
        from precog_models.importer.onnx_lstm import load_onnx

        model = load_onnx(source, steps=steps)
    else:
        from precog_models.importer.torch_state import load_torch

        model = load_torch(source, steps=steps)
    image = to_image(model, card={"source": source.name}, version=version)
    image.save(output)
    meta = image.metadata() | {"path": str(output)}
    emit(
        meta,
        lambda: typer.echo(f"{output}: version {version}, CRC {meta['payload_crc32']}"),
        json_,
    )


def _flat(card: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """The leaves of nested objects, with dotted names."""
    for key, value in card.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", str(value)


def _image(model: str) -> "Image":
    from precog_models.image import load as load_file
    from precog_models.image import pretrained, pretrained_names

    if model in pretrained_names():
        return pretrained(model)
    return load_file(model)
