"""``precog replay``: a capture through the packet path, insertion and extraction, in RTL."""

import ipaddress
from pathlib import Path
from typing import Annotated

import typer

from precog_host.output import JsonOption, emit, table

__all__ = ["replay"]

_SHOWN = 10  # differences between RTL and golden that are printed


def replay(
    capture: Annotated[Path, typer.Argument(help="pcap or pcapng.", exists=True, dir_okay=False)],
    out: Annotated[Path | None, typer.Option(help="Write what came out, .pcapng or .pcap.")] = None,
    wire: Annotated[
        Path | None, typer.Option(help="Write what went over the wire, with shims.")
    ] = None,
    local: Annotated[
        str | None,
        typer.Option(help="Address whose RTTs are taken; the first RoCEv2 sender without it."),
    ] = None,
    score: Annotated[int, typer.Option(min=0, max=100, help="Score that is inserted.")] = 50,
    timeout_ms: Annotated[float, typer.Option(min=0, help="RTT time-out; 0: none.")] = 1000.0,
    width: Annotated[
        int, typer.Option(help="Bits in a beat of the Verilated packet path: 8 to 512.")
    ] = 64,
    golden: Annotated[
        bool, typer.Option("--golden", help="The golden model alone, without RTL.")
    ] = False,
    json_: JsonOption = False,
) -> None:
    """Run a capture through the packet path in RTL: insert, extract, compare, take RTTs.

    Every packet goes through the golden model, too; exit status 1 if the two differ anywhere.
    """
    from precog_hw.stream.packet import WIDTHS
    from precog_sim.capture import read, suffix_of, write
    from precog_sim.replay.run import replay as run

    if width not in WIDTHS:
        known = ", ".join(str(bits) for bits in WIDTHS)
        raise ValueError(f"width must be one of {known} bits, not {width}")
    for path in (out, wire):
        if path is not None:
            suffix_of(path)
    found = run(
        list(read(capture)),
        local=None if local is None else _address(local),
        score=score,
        timeout_ns=round(timeout_ms * 1e6),
        width=None if golden else width,
    )
    if out is not None:
        write(out, found.out)
    if wire is not None:
        write(wire, found.wire)
    data = found.as_dict()

    def show() -> None:
        counts = {key: value for key, value in data.items() if isinstance(value, int)}
        table(("packets", "count"), list(counts.items()), title=str(capture))
        for title in ("opcodes", "bypassed", "rtt_us", "rtl_vs_golden"):
            if data.get(title):
                typer.echo()
                table((title, ""), list(data[title].items()))

    emit(data, show, json_)
    for difference in found.differences[:_SHOWN]:
        typer.echo(difference, err=True)
    if found.differences:
        raise typer.Exit(1)


def _address(text: str) -> int:
    """An address in 128 bits, IPv4 as ::ffff:a.b.c.d."""
    from precog_models.packet.wire.qp_key import IPV4_MAPPED

    try:
        address = ipaddress.ip_address(text)
    except ValueError as error:
        raise ValueError(f"local address must be IPv4 or IPv6, not {text!r}") from error
    return int(address) | (IPV4_MAPPED if address.version == 4 else 0)
