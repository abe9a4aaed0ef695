"""``precog serve``: a device shared over UDP."""

import ipaddress
import socket
import sys
from pathlib import Path
from typing import Annotated
from urllib.parse import quote

import typer

from precog_host.output import DeviceOption, JsonOption, emit, printable
from precog_host.turns import HOLD_S, TURN_S

_LEAST_S, _MOST_S = 0.05, 1e6


def serve(
    udp: Annotated[int, typer.Option(help="Port to listen at; 0: any.", min=0, max=65535)] = 1234,
    bind: Annotated[
        str, typer.Option(help="Address to listen at; others than this host's need a token.")
    ] = "127.0.0.1",
    token_file: Annotated[
        Path | None,
        typer.Option(help="Obey only clients that have the token in this file; made if missing."),
    ] = None,
    no_token: Annotated[
        bool, typer.Option("--no-token", help="Obey all that reach --bind's address.")
    ] = False,
    hold: Annotated[
        float,
        typer.Option(help="Seconds of silence that cost a client the device if another waits."),
    ] = HOLD_S,
    turn: Annotated[
        float, typer.Option(help="Seconds that a client keeps the device while another waits.")
    ] = TURN_S,
    demo: Annotated[
        bool, typer.Option("--demo", help="Six queue pairs with traffic, to practise on.")
    ] = False,
    device: DeviceOption = "emu:",
    json_: JsonOption = False,
) -> None:
    """Let other commands reach a device as udp:HOST:PORT (Etherbone), one at a time; until ^C."""
    from precog_host.device import Device
    from precog_host.monitor.demo import Demo
    from precog_host.sealing import make_token, read_token
    from precog_host.serve import EtherboneServer

    for name, value in (("hold", hold), ("turn", turn)):
        if not _LEAST_S <= value <= _MOST_S:
            raise ValueError(f"{name} must be in {_LEAST_S:g}..{_MOST_S:g} seconds, not {value!r}")
    if demo and device.startswith("udp:"):
        raise ValueError(
            f"demo must be left out with {device}: its own server feeds it, started with --demo"
        )
    if token_file is not None and no_token:
        raise ValueError("token-file must be left out with --no-token")
    if token_file is None and not no_token and not _is_loopback(bind):
        raise ValueError(
            f"bind must be an address of this host alone, not {bind}, without a token: give "
            "--token-file, or --no-token to obey all that reach it"
        )
    if token_file is not None and not token_file.exists():
        make_token(token_file)
    token = None if token_file is None else read_token(token_file)
    with Device.open(device) as opened:
        feed = Demo() if demo else None

        def report(text: str) -> None:
            typer.echo(printable(text), err=True)

        if feed is not None:
            feed(opened)  # what cannot be fed is refused before anybody can reach it
        server = EtherboneServer(
            opened.transport,
            bind,
            udp,
            hold_s=hold,
            turn_s=turn,
            token=token,
            feed=None if feed is None else lambda: feed(opened),
            report=report,
        )
        try:
            where = f"udp:{f'[{bind}]' if ':' in bind else bind}:{server.port}"
            if token_file is not None:
                where += f"?token_file={quote(str(token_file.resolve()))}"
            emit({"uri": where, "device": device}, lambda: _say(device, where), json_)
            sys.stdout.flush()
            server.run()
        finally:
            server.close()


def _say(device: str, where: str) -> None:
    typer.echo(f"{device} is at {where}; in another terminal:")
    typer.echo(f"export PRECOG_DEVICE={where}")


def _is_loopback(host: str) -> bool:
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_DGRAM)
    except (OSError, UnicodeError):
        return True  # the server says why it cannot have the port
    addresses = (str(where[0]).partition("%")[0] for *_, where in found)
    return all(ipaddress.ip_address(address).is_loopback for address in addresses)
