"""``precog lab``: Linux guests with soft-RoCE whose frames pass through Precog devices."""

import shutil
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from precog_host.output import JsonOption, emit, table

__all__ = ["lab"]

_SHOWN = 5  # differences that are printed


def lab(
    work: Annotated[
        list[str] | None,
        typer.Option(
            "--work",
            "-w",
            help="write, read, send, atomic, rping or nvme; may be repeated. By default the first "
            "four.",
        ),
    ] = None,
    rtl: Annotated[
        bool,
        typer.Option("--rtl/--golden", help="Verilated cards, each compared with its golden twin."),
    ] = False,
    iterations: Annotated[
        int | None, typer.Option(help="Messages of a queue pair; by default 200, 20 with --rtl.")
    ] = None,
    pairs: Annotated[int, typer.Option(help="Queue pairs of a workload.")] = 1,
    incast: Annotated[int, typer.Option(metavar="N", help="Guests that send to one.")] = 1,
    ce: Annotated[float, typer.Option(help="Chance that the wire marks a packet (CE).")] = 0.0,
    loss: Annotated[float, typer.Option(help="Chance that the wire loses a packet.")] = 0.0,
    reorder: Annotated[float, typer.Option(help="Chance that others overtake a packet.")] = 0.0,
    delay: Annotated[float, typer.Option(help="Of the wire, µs of card time.")] = 0.0,
    gbps: Annotated[float, typer.Option(help="Of each guest's link, card time.")] = 100.0,
    mark_bytes: Annotated[
        int | None, typer.Option(help="Queue of a link from which on it marks packets.")
    ] = None,
    pace: Annotated[
        bool, typer.Option("--pace", help="Packets wait at the golden card as its law says.")
    ] = False,
    algorithm: Annotated[str, typer.Option("--algo", help="Law of all queue pairs.")] = "dcqcn",
    seed: Annotated[int, typer.Option(help="Of the wire's chances.")] = 1,
    pci: Annotated[
        bool,
        typer.Option("--pci", help="A card on a guest's PCI bus instead, driven from inside."),
    ] = False,
    pcap: Annotated[
        Path | None, typer.Option(help="Write what went over the wire, .pcapng or .pcap.")
    ] = None,
    cache: Annotated[
        Path | None, typer.Option(help="Folder of packages and images; by default the user's.")
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Say what is missing and what mends it; run nothing.")
    ] = False,
    fetch: Annotated[
        bool, typer.Option("--fetch", help="Fetch guests' packages anew; run nothing.")
    ] = False,
    json_: JsonOption = False,
) -> None:
    """Run real RDMA programs in Linux guests, with a Precog device at each one's side of the wire.

    Guests' packages are fetched with apt-get download when they are missing; only QEMU must be
    installed. Exit status 1 if a guest fails or hangs, or a packet comes out other than it went in.
    """
    from precog_sim.capture import suffix_of, write

    from .packages import Cache, LabError, default_cache
    from .run import run
    from .settings import Settings

    kept = Cache(cache or default_cache())
    if check:
        _checked(kept, json_)
        return
    if fetch:
        kept.fetch()
        _checked(kept, json_)
        return
    settings = Settings(
        workloads=tuple(work or Settings.workloads),
        rtl=rtl,
        iterations=iterations,
        pairs=pairs,
        senders=incast,
        ce=ce,
        loss=loss,
        reorder=reorder,
        delay_us=delay,
        link_gbps=gbps,
        mark_bytes=mark_bytes,
        pace=pace,
        algorithm=algorithm,
        seed=seed,
    )
    if pci and (settings != Settings(rtl=rtl) or pcap is not None):
        raise ValueError("--pci must stand with no other option than --rtl, --cache and -j")
    if pcap is not None:
        suffix_of(pcap)
        if not pcap.parent.is_dir():
            raise ValueError(f"--pcap must be in a folder that exists, not {pcap.parent}")
    absent = kept.missing()
    if absent and set(absent.values()) == {"precog lab --fetch"}:
        typer.echo(f"fetching {len(absent)} packages into {kept.folder}", err=True)
        kept.fetch()
        absent = kept.missing()
    if absent:
        what, how = next(iter(absent.items()))
        raise LabError(f"{what} must be there: {how}; precog lab --check lists all")
    progress = partial(typer.echo, err=True)
    if pci:
        from .pci_run import run_pci

        found = run_pci(kept, rtl=rtl, progress=progress)
        _shown(found, found["failed"], json_)
        return
    outcome = run(kept, settings, keep=pcap is not None, progress=progress)
    if pcap is not None:
        write(pcap, outcome.wire)
    _shown(outcome.figures, outcome.differences, json_)


def _shown(figures: dict[str, Any], failed: list[str], json_: bool) -> None:
    """Print a run; exit status 1 if something was not as it should be."""

    def show() -> None:
        rows = [
            (name, value) for name, value in figures.items() if not isinstance(value, (dict, list))
        ]
        table(("lab", ""), rows)

    emit(figures, show, json_)
    for line in failed[:_SHOWN]:
        typer.echo(line, err=True)
    if failed or figures.get("icrc_bad"):
        raise typer.Exit(1)


def _checked(cache: Any, json_: bool) -> None:
    """Say what is missing; exit status 1 if anything is."""
    absent: dict[str, str] = cache.missing()
    free = shutil.disk_usage(next(p for p in (cache.folder, *cache.folder.parents) if p.exists()))
    data = {"missing": absent, "cache": str(cache.folder), "free_mb": free.free >> 20}

    def show() -> None:
        if not absent:
            typer.echo(f"nothing is missing; packages are in {cache.folder}")
            return
        for how in dict.fromkeys(absent.values()):
            names = [name for name, mends in absent.items() if mends == how]
            typer.echo(f"missing: {' '.join(names)}")
            typer.echo(f"  mended by: {how}")

    emit(data, show, json_)
    if absent:
        raise typer.Exit(1)
