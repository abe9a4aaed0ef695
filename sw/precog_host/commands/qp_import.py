"""``precog qp import``: slots for the queue pairs that the kernel's RDMA stack has."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from precog_host.output import DeviceOption, JsonOption, emit, table

_COLUMNS = ("slot", "ifname", "port", "lqpn", "rqpn", "remote", "destination", "owner")


def import_(
    source: Annotated[
        str, typer.Argument(help="File with the output of rdma -j resource show qp, or -.")
    ],
    remote: Annotated[
        str | None, typer.Option(help="IP address of the peer: the list has none.")
    ] = None,
    peer: Annotated[
        list[str] | None,
        typer.Option(
            help="Peer of one queue pair, LQPN=IP or DEVICE/LQPN=IP; may be repeated.",
            metavar="LQPN=IP",
        ),
    ] = None,
    ifname: Annotated[
        str | None, typer.Option(help="Only queue pairs of this RDMA device.")
    ] = None,
    port: Annotated[int | None, typer.Option(help="Only queue pairs of this port.")] = None,
    preset: Annotated[str, typer.Option(help="Law preset: thesis or precog.")] = "precog",
    algorithm: Annotated[
        str | None,
        typer.Option("--algo", help="Law; by default timely, or pid on a device without it."),
    ] = None,
    mode: Annotated[
        str, typer.Option(help="How packets carry scores: off, s or r; the peer must know it.")
    ] = "off",
    mtu: Annotated[int, typer.Option(help="Path MTU, bytes.")] = 1024,
    first_slot: Annotated[int, typer.Option(help="First slot that may be given.")] = 0,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be done, and do nothing.")
    ] = False,
    device: DeviceOption = "emu:",
    json_: JsonOption = False,
) -> None:
    """Bind and enable a free slot for each connected queue pair of an rdma list.

    Slots, laws and keys only: where connections stand (PSN) is not in the list as of now.
    """
    from precog_host import pairs, rdma_import, rdma_list
    from precog_host.device import Device

    qps, skipped = rdma_list.read_list(_text(source), ifname=ifname, port=port)
    peers = rdma_list.peers_of(peer or ())
    address = None if remote is None else rdma_list.parse_address(remote)
    with Device.open(device) as opened:
        if opened.packets is None and (address is not None or peers):
            raise ValueError(
                f"--remote and --peer must be left out: device {device} has no packet path, and "
                "binds no connection; try emu:width=64"
            )
        plan = rdma_import.plan(
            opened, qps, skipped, remote=address, peers=peers, first_slot=first_slot
        )
        law = algorithm or pairs.first_law(opened)
        rdma_import.check(opened, plan, preset=preset, algorithm=law, mode=mode, mtu=mtu)
        if not dry_run:
            rdma_import.apply(opened, plan, preset=preset, algorithm=law, mode=mode, mtu=mtu)
    rows: list[dict[str, Any]] = [
        {
            "slot": one.slot,
            "ifname": one.qp.ifname,
            "port": one.qp.port,
            "lqpn": one.qp.lqpn,
            "rqpn": one.qp.rqpn,
            "remote": None if one.remote is None else str(one.remote),
            "destination": one.destination,
            "owner": one.qp.owner,
        }
        for one in plan.planned
    ]

    def show() -> None:
        if rows:
            table(_COLUMNS, [tuple(row[name] for name in _COLUMNS) for row in rows])
        done = "would be imported" if dry_run else "imported"
        typer.echo(f"{len(rows)} {done}, {sum(plan.skipped.values())} skipped")
        for reason, count in plan.skipped.items():
            typer.echo(f"  {count} {reason}")
        if "without a peer" in plan.skipped:
            typer.echo("the list has no addresses: give --remote or --peer")

    data = {"imported": rows, "skipped": plan.skipped, "dry_run": dry_run, "algorithm": law}
    emit(data, show, json_)


def _text(source: str) -> str:
    """The list, of a file or of standard input."""
    from precog_models.limits import LIST_BYTES

    if source == "-":
        raw = sys.stdin.buffer.read(LIST_BYTES + 1)
    else:
        with Path(source).open("rb") as file:
            raw = file.read(LIST_BYTES + 1)
    if len(raw) > LIST_BYTES:
        raise ValueError(f"list must have at most {LIST_BYTES >> 20} MiB: {source}")
    return raw.decode("utf-8", errors="replace")
