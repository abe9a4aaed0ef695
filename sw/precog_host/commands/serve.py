"""``precog serve``: a device shared over UDP."""

import sys
from typing import Annotated

import typer

from precog_host.output import DeviceOption, JsonOption, emit, printable


def serve(
    udp: Annotated[int, typer.Option(help="Port to listen at; 0: any.", min=0, max=65535)] = 1234,
    bind: Annotated[
        str, typer.Option(help="Address to listen at; who reaches it owns the device.")
    ] = "127.0.0.1",
    hold: Annotated[
        float, typer.Option(help="Seconds after which a silent client has lost the device.")
    ] = 5.0,
    device: DeviceOption = "emu:",
    json_: JsonOption = False,
) -> None:
    """Let other commands reach a device as udp:HOST:PORT (Etherbone), one at a time; until ^C."""
    from precog_host.device import Device
    from precog_host.serve import EtherboneServer

    if not 0 < hold < 1e6:
        raise ValueError(f"hold must be above 0 seconds, not {hold!r}")
    with Device.open(device) as opened:

        def report(text: str) -> None:
            typer.echo(printable(text), err=True)

        server = EtherboneServer(opened.transport, bind, udp, hold_s=hold, report=report)
        try:
            where = f"udp:{f'[{bind}]' if ':' in bind else bind}:{server.port}"
            emit(
                {"uri": where, "device": device},
                lambda: typer.echo(f"{device} is at {where}"),
                json_,
            )
            sys.stdout.flush()
            server.run()
        finally:
            server.close()
