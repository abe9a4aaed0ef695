"""``precog packet``: the packet path of a device: parameters, queue pairs' keys, counters."""

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from precog_host.output import DeviceOption, JsonOption, emit, table
from precog_host.transport import DeviceError

if TYPE_CHECKING:
    from precog_host.packets import PacketPath

app = typer.Typer(
    help="Packets of a device built with them, such as emu:width=64.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

_SlotArgument = Annotated[int, typer.Argument(help="QP slot.")]
_BINDING = (
    *("slot", "remote", "remote_qp", "local_qp", "mode", "destination"),
    *("score", "score_source", "mtu"),
)


@contextmanager
def _packets(device: str) -> "Iterator[PacketPath]":
    """The packet path of the device that a URI names."""
    from precog_host.device import Device

    with Device.open(device) as opened:
        if opened.packets is None:
            raise DeviceError(
                f"device {device} has no packet path: it was built without one; try emu:width=64"
            )
        yield opened.packets


@app.command()
def param(
    assignments: Annotated[
        list[str] | None, typer.Argument(help="name=value.", metavar="NAME=VALUE")
    ] = None,
    device: DeviceOption = "emu:",
    json_: JsonOption = False,
) -> None:
    """Show the parameters of the packet path, after setting some."""
    values: dict[str, int] = {}
    for text in assignments or ():
        name, _, number = text.partition("=")
        if name in values:
            raise ValueError(f"parameter {name} must be given once, not again as {text!r}")
        if not (number.isascii() and number.isdecimal()):
            raise ValueError(f"parameter must be <name>=<whole number>, not {text!r}")
        values[name] = int(number)
    with _packets(device) as path:
        path.set_parameters(**values)
        parameters = path.parameters()
    emit(parameters, lambda: table(("parameter", "value"), list(parameters.items())), json_)


@app.command()
def bind(
    slot: _SlotArgument,
    remote: Annotated[str, typer.Argument(help="The peer's IP address.")],
    remote_qp: Annotated[int, typer.Option(help="DestQP of packets to the peer.")],
    local_qp: Annotated[int, typer.Option(help="DestQP of packets from the peer.")],
    mode: Annotated[str, typer.Option(help="How packets carry the score: off, s or r.")] = "s",
    destination: Annotated[int, typer.Option(help="Index shared by QPs to one peer.")] = 0,
    score: Annotated[int | None, typer.Option(help="Score to be sent, 0..100.")] = None,
    score_source: Annotated[
        str, typer.Option(help="Whose score is sent: host, or predicted: queue, rtt, max.")
    ] = "host",
    mtu: Annotated[int, typer.Option(help="Path MTU, bytes.")] = 1024,
    device: DeviceOption = "emu:",
    json_: JsonOption = False,
) -> None:
    """Give a slot to a connection."""
    from precog_models.packet.wire.cps import Mode

    if mode.upper() not in Mode.__members__:
        raise ValueError(f"mode must be off, s or r, not {mode!r}")
    with _packets(device) as path:
        path.bind(
            slot,
            remote,
            remote_qp=remote_qp,
            local_qp=local_qp,
            mode=Mode[mode.upper()],
            destination=destination,
            score=score,
            score_source=score_source,
            mtu=mtu,
        )
        _emit_bindings(path, json_)


@app.command()
def score(
    slot: _SlotArgument,
    score: Annotated[int | None, typer.Option(help="The host's score, 0..100.")] = None,
    source: Annotated[
        str | None, typer.Option(help="Whose score is sent: host, queue, rtt, max.")
    ] = None,
    device: DeviceOption = "emu:",
    json_: JsonOption = False,
) -> None:
    """Set the score that a connection's packets carry, or whose; without a score there is none."""
    with _packets(device) as path:
        path.set_score(slot, score, source=source)
        _emit_bindings(path, json_)


@app.command()
def unbind(slot: _SlotArgument, device: DeviceOption = "emu:", json_: JsonOption = False) -> None:
    """Take a slot from its connection; its packets pass unchanged from now on."""
    with _packets(device) as path:
        path.unbind(slot)
        _emit_bindings(path, json_)


@app.command()
def show(device: DeviceOption = "emu:", json_: JsonOption = False) -> None:
    """Show the connections, as the device's table has them."""
    with _packets(device) as path:
        _emit_bindings(path, json_)


@app.command()
def destination(
    number: Annotated[int, typer.Argument(help="Index of the destination.")],
    clear: Annotated[bool, typer.Option(help="Start the numbers again.")] = False,
    enable: Annotated[
        bool | None, typer.Option(help="Whether packets to it may carry scores.")
    ] = None,
    device: DeviceOption = "emu:",
    json_: JsonOption = False,
) -> None:
    """Show latency, loss and marks of all queue pairs to a destination."""
    with _packets(device) as path:
        if enable is not None:
            path.enable_destination(number, enable=enable)
        status = dataclasses.asdict(path.destination(number, clear=clear))
    emit(status, lambda: table(("what", "value"), list(status.items())), json_)


@app.command()
def counter(device: DeviceOption = "emu:", json_: JsonOption = False) -> None:
    """Show what became of packets, and events."""
    with _packets(device) as path:
        counters = path.counters()
    rows = [(kind, name, n) for kind, counts in counters.items() for name, n in counts.items() if n]

    def draw() -> None:
        if rows:
            table(("table", "counter", "count"), rows)
        else:
            typer.echo("all counters are 0")

    emit(counters, draw, json_)


@app.command()
def port(device: DeviceOption = "emu:", json_: JsonOption = False) -> None:
    """Show what became of frames at a board's Gigabit ports."""
    from precog_host.device import Device

    with Device.open(device) as opened:
        if (ports := opened.ports) is None:
            raise DeviceError(
                f"device {device} has no Gigabit ports: it was built without; "
                "try emu:width=64,macs=2"
            )
        counters = ports.counters()
    rows = [(name, what, n) for name, counts in counters.items() for what, n in counts.items()]
    emit(counters, lambda: table(("port", "frames", "count"), rows), json_)


@app.command()
def wire(
    slots: Annotated[list[int] | None, typer.Argument(help="QP slots to be shown.")] = None,
    hold: Annotated[
        bool | None, typer.Option(help="Hold the input for want of room, or drop packets.")
    ] = None,
    acks_pass: Annotated[
        bool | None, typer.Option(help="Acknowledgements do not wait; only without READs.")
    ] = None,
    quota: Annotated[int | None, typer.Option(help="Cells that a QP may hold.")] = None,
    limit: Annotated[
        int | None, typer.Option(help="Cells that all may hold beyond their quotas.")
    ] = None,
    expiry: Annotated[
        int | None,
        typer.Option(help="Ticks after which a shut window opens without an acknowledgement."),
    ] = None,
    device: DeviceOption = "emu:",
    json_: JsonOption = False,
) -> None:
    """Show the packets that wait for their grants, after setting what is given."""
    from precog_host.device import Device

    with Device.open(device) as opened:
        if (waiting := opened.waiting) is None:
            raise DeviceError(
                f"packets do not wait in device {device}: it was built without; "
                "try emu:width=64,grants=1,wire=256"
            )
        waiting.set_parameters(
            hold=hold, acks_pass=acks_pass, quota=quota, limit=limit, expiry=expiry
        )
        shown = {
            "queue_pairs": [{"qp": qp, **waiting.row(qp)} for qp in dict.fromkeys(slots or ())],
            **{name: getattr(waiting, name)() for name in ("memory", "parameters", "counters")},
        }

    def draw() -> None:
        if rows := shown["queue_pairs"]:
            table(tuple(rows[0]), [tuple(row.values()) for row in rows])
        for name in ("memory", "parameters", "counters"):
            table((name, "value"), list(shown[name].items()))

    emit(shown, draw, json_)


def _emit_bindings(path: "PacketPath", json_: bool) -> None:
    rows = [
        {**dataclasses.asdict(b), "remote": str(b.remote), "mode": b.mode.name.lower()}
        for b in path.bindings()
    ]

    def draw() -> None:
        if rows:
            table(_BINDING, [tuple(row[name] for name in _BINDING) for row in rows])
        else:
            typer.echo("no slot is bound")

    emit(rows, draw, json_)
