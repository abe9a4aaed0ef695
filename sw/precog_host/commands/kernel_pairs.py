"""What `qp import` and `qp follow` share: options, and whether the device can bind connections."""

from typing import TYPE_CHECKING, Annotated

import typer

from .parts import LAW_PRESET_HELP

if TYPE_CHECKING:
    from precog_host.device import Device

__all__ = [
    "AlgorithmOption",
    "FirstSlotOption",
    "IfnameOption",
    "ModeOption",
    "MtuOption",
    "PeerOption",
    "PortOption",
    "PresetOption",
    "RemoteOption",
    "check_binding",
]

RemoteOption = Annotated[
    str | None, typer.Option(help="IP address of the peer: the list has none.")
]
PeerOption = Annotated[
    list[str] | None,
    typer.Option(
        help="Peer of one queue pair, LQPN=IP or DEVICE/LQPN=IP; may be repeated.",
        metavar="LQPN=IP",
    ),
]
IfnameOption = Annotated[str | None, typer.Option(help="Only queue pairs of this RDMA device.")]
PortOption = Annotated[int | None, typer.Option(help="Only queue pairs of this port.")]
PresetOption = Annotated[str, typer.Option(help=LAW_PRESET_HELP)]
AlgorithmOption = Annotated[
    str | None,
    typer.Option("--algo", help="Law; by default timely, or pid without a law engine."),
]
ModeOption = Annotated[
    str, typer.Option(help="How packets carry scores: off, s or r; the peer must know it.")
]
MtuOption = Annotated[int, typer.Option(help="Path MTU, bytes.")]
FirstSlotOption = Annotated[int, typer.Option(help="First slot that may be given.")]


def check_binding(opened: "Device", uri: str, wanted: bool) -> None:
    """Refuse peers on a device that binds no connection.

    Raises
    ------
    ValueError
        Peers are `wanted`, and the device has no packet path.
    """
    if opened.packet is None and wanted:
        raise ValueError(
            f"--remote and --peer must be left out: device {uri} has no packet path, and "
            "binds no connection; try emu:width=64"
        )
