"""``precog packet``: the packet path of a device: parameters, queue pairs' keys, counters."""

import dataclasses
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Annotated

import typer

from precog_host.output import (
    DeviceOption,
    JsonOption,
    emit,
    group,
    parameters_given,
    require_one,
    table,
    whole_numbers,
)

from . import port, senders, wire
from .parts import open_part

if TYPE_CHECKING:
    from precog_host.driver.packet import Binding, PacketDriver

__all__ = ["app"]

app = group("Packets of a device built with them, such as emu:width=64.")
_param = group("Parameters of the packet path.")
_binding = group("Connections of queue pairs: peer, QP numbers, scores.")
_score = group("Scores that a connection's packets carry.")
_destination = group("Latency, loss and marks by destination.")
_counter = group("Fates of packets, and events.")
_mac = group("Gigabit ports of a board.")
for _name, _group in (
    ("param", _param),
    ("binding", _binding),
    ("score", _score),
    ("destination", _destination),
    ("counter", _counter),
    ("mac", _mac),
    ("port", port.app),
    ("senders", senders.app),
    ("wire", wire.app),
):
    app.add_typer(_group, name=_name)

_OneSlotArgument = Annotated[int, typer.Argument(help="QP slot.", metavar="SLOT")]
_DestinationArgument = Annotated[
    int, typer.Argument(help="Index of the destination.", metavar="NUMBER")
]
_BINDING = (
    *("slot", "remote", "remote_qp", "local_qp", "mode", "destination"),
    *("score", "score_source", "mtu"),
)


def _packets(device: str) -> "AbstractContextManager[PacketDriver]":
    """The packet path of the device that a URI names."""
    return open_part(
        device,
        lambda opened: opened.packet,
        f"device {device} has no packet path: it was built without one; try emu:width=64",
    )


@_param.command("show")
def show_param(device: DeviceOption = "emu:", json_: JsonOption = False) -> None:
    """Show the parameters of the packet path."""
    with _packets(device) as path:
        parameters = path.parameters()
    emit(parameters, lambda: table(("parameter", "value"), list(parameters.items())), json_)


@_param.command("set")
def set_param(
    assignments: Annotated[list[str], typer.Argument(help="name=value.", metavar="NAME=VALUE...")],
    device: DeviceOption = "emu:",
    json_: JsonOption = False,
) -> None:
    """Set parameters of the packet path."""
    values = whole_numbers(parameters_given(assignments))
    with _packets(device) as path:
        path.set_parameters(**values)
        parameters = path.parameters()
    emit(parameters, lambda: table(("parameter", "value"), list(parameters.items())), json_)


@_binding.command("add")
def add_binding(
    slot: _OneSlotArgument,
    remote: Annotated[str, typer.Argument(help="The peer's IP address.")],
    remote_qp: Annotated[int, typer.Option(help="DestQP of packets to the peer.")],
    local_qp: Annotated[int, typer.Option(help="DestQP of packets from the peer.")],
    mode: Annotated[str, typer.Option(help="How packets carry the score: off, s or r.")] = "s",
    destination: Annotated[int, typer.Option(help="Index shared by QPs to one peer.")] = 0,
    score: Annotated[int | None, typer.Option(help="Score to be sent, 0..100.")] = None,
    score_source: Annotated[
        str, typer.Option(help="Score that is sent: host, or predicted: queue, rtt, max, port.")
    ] = "host",
    mtu: Annotated[int, typer.Option(help="Path MTU, bytes.")] = 1024,
    device: DeviceOption = "emu:",
    json_: JsonOption = False,
) -> None:
    """Give a slot to a connection."""
    from precog_spec.frames.cps import Mode

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


@_binding.command("del")
def del_binding(
    slot: _OneSlotArgument, device: DeviceOption = "emu:", json_: JsonOption = False
) -> None:
    """Take a slot from its connection; its packets pass unchanged from now on."""
    with _packets(device) as path:
        if slot not in path.used():
            _bound(path, slot)
        path.unbind(slot)
        _emit_bindings(path, json_)


@_binding.command("show")
def show_bindings(device: DeviceOption = "emu:", json_: JsonOption = False) -> None:
    """Show the connections, as the device's table has them."""
    with _packets(device) as path:
        _emit_bindings(path, json_)


@_score.command("set")
def set_score(
    slot: _OneSlotArgument,
    score: Annotated[int | None, typer.Option(help="The host's score, 0..100.")] = None,
    source: Annotated[
        str | None, typer.Option(help="Score that is sent: host, queue, rtt, max.")
    ] = None,
    device: DeviceOption = "emu:",
    json_: JsonOption = False,
) -> None:
    """Set the host's score of a connection, or choose the score that its packets carry."""
    require_one(score=score, source=source)
    with _packets(device) as path:
        kept = _bound(path, slot).score
        path.set_score(slot, kept if score is None else score, source=source)
        _emit_bindings(path, json_)


@_score.command("del")
def del_score(
    slot: _OneSlotArgument, device: DeviceOption = "emu:", json_: JsonOption = False
) -> None:
    """Clear the host's score of a connection."""
    with _packets(device) as path:
        _bound(path, slot)
        path.set_score(slot, None)
        _emit_bindings(path, json_)


@_destination.command("show")
def show_destination(
    number: _DestinationArgument, device: DeviceOption = "emu:", json_: JsonOption = False
) -> None:
    """Show latency, loss and marks of all queue pairs to a destination."""
    with _packets(device) as path:
        _emit_destination(path, number, json_)


@_destination.command("set")
def set_destination(
    number: _DestinationArgument,
    enable: Annotated[
        bool, typer.Option("--enable/--no-enable", help="It is sent scores, and heard.")
    ],
    device: DeviceOption = "emu:",
    json_: JsonOption = False,
) -> None:
    """Set whether a destination is trusted: sent scores, heard, and its shims taken out."""
    with _packets(device) as path:
        path.enable_destination(number, enable=enable)
        _emit_destination(path, number, json_)


@_destination.command("clear")
def clear_destination(
    number: _DestinationArgument, device: DeviceOption = "emu:", json_: JsonOption = False
) -> None:
    """Show a destination's numbers, and start them anew without losing an event."""
    with _packets(device) as path:
        _emit_destination(path, number, json_, clear=True)


@_counter.command("show")
def show_counter(device: DeviceOption = "emu:", json_: JsonOption = False) -> None:
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


@_mac.command("show")
def show_mac(device: DeviceOption = "emu:", json_: JsonOption = False) -> None:
    """Show what became of frames at a board's Gigabit ports."""
    missing = f"device {device} has no Gigabit ports: it was built without; try emu:width=64,macs=2"
    with open_part(device, lambda opened: opened.mac, missing) as ports:
        counters = ports.counters()
    rows = [(name, what, n) for name, counts in counters.items() for what, n in counts.items()]
    emit(counters, lambda: table(("port", "frames", "count"), rows), json_)


def _bound(path: "PacketDriver", slot: int) -> "Binding":
    for binding in path.bindings():
        if binding.slot == slot:
            return binding
    raise ValueError(f"slot {slot} must be bound: precog packet binding add {slot} binds it")


def _emit_destination(
    path: "PacketDriver", number: int, json_: bool, *, clear: bool = False
) -> None:
    status = dataclasses.asdict(path.destination(number, clear=clear))
    emit(status, lambda: table(("what", "value"), list(status.items())), json_)


def _emit_bindings(path: "PacketDriver", json_: bool) -> None:
    rows = [
        {**dataclasses.asdict(b), "remote": str(b.remote), "mode": b.mode.name.lower()}
        for b in path.bindings()
    ]

    def draw() -> None:
        if rows:
            table(_BINDING, [tuple(row[name] for name in _BINDING) for row in rows])
        else:
            typer.echo("no slot is bound: precog packet binding add binds one")

    emit(rows, draw, json_)
