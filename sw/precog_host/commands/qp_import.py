"""``precog qp import``: slots for the queue pairs that the kernel's RDMA stack has."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from precog_host.output import DeviceOption, JsonOption, emit, printable, table

from .kernel_pairs import (
    AlgorithmOption,
    FirstSlotOption,
    IfnameOption,
    ModeOption,
    MtuOption,
    PeerOption,
    PortOption,
    PresetOption,
    RemoteOption,
    check_binding,
)

_COLUMNS = ("slot", "ifname", "port", "lqpn", "rqpn", "remote", "destination", "owner")


def import_(
    source: Annotated[
        str, typer.Argument(help="File with the output of rdma -j resource show qp, or -.")
    ],
    remote: RemoteOption = None,
    peer: PeerOption = None,
    ifname: IfnameOption = None,
    port: PortOption = None,
    preset: PresetOption = "precog",
    algorithm: AlgorithmOption = None,
    mode: ModeOption = "off",
    mtu: MtuOption = 1024,
    first_slot: FirstSlotOption = 0,
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
    from precog_spec.frames.qp_key import parse_address

    qps, skipped = rdma_list.read_list(_text(source), ifname=ifname, port=port)
    peers = rdma_list.peers_of(peer or ())
    address = None if remote is None else parse_address(remote)
    with Device.open(device) as opened:
        check_binding(opened, device, address is not None or bool(peers))
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
            typer.echo(printable(f"  {count} {reason}"))
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
