"""``precog lab``: Linux guests with soft-RoCE whose frames pass through Precog devices."""

import os
import shutil
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

import typer

from precog_host.output import JsonOption, emit, table

from . import command_options as options

if TYPE_CHECKING:
    from .packages import Cache

__all__ = ["lab"]

_SHOWN = 5  # differences that are printed


def lab(
    work: options.Work = None,
    rtl: options.Rtl = False,
    iterations: options.Iterations = None,
    pairs: options.Pairs = 1,
    incast: options.Incast = 1,
    ce: options.Ce = 0.0,
    loss: options.Loss = 0.0,
    reorder: options.Reorder = 0.0,
    delay: options.Delay = 0.0,
    gbps: options.Gbps = 100.0,
    mark_bytes: options.MarkBytes = None,
    pace: options.Pace = False,
    algorithm: options.Algorithm = "dcqcn",
    soak: options.Soak = 0.0,
    rest: options.Rest = 0.0,
    seed: options.Seed = 1,
    pci: options.Pci = False,
    pcap: options.Pcap = None,
    monitor: options.Monitor = False,
    serve: options.Serve = None,
    report: options.Report = None,
    cache: options.Cache = None,
    check: options.Check = False,
    fetch: options.Fetch = False,
    json_: JsonOption = False,
) -> None:
    """Run real RDMA programs in Linux guests, with a Precog device at each one's side of the wire.

    Guests' packages are fetched with apt-get download when they are missing; only QEMU must be
    installed. Exit status 1 if a guest fails or hangs, or a packet comes out other than it went in.
    """
    from precog_models.durable import check_target
    from precog_sim.capture import suffix_of, write

    from .packages import EXTRAS, Cache, default_cache
    from .run import run
    from .series import Series
    from .settings import Settings

    extras = tuple(name for name in EXTRAS if name in (work or ()))
    kept = Cache(cache or default_cache(), extras)
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
        soak_s=60 * soak,
        rest_s=rest,
    )
    _check_view(monitor, serve, json_)
    others = (pcap, serve, report) != (None,) * 3 or monitor
    if pci and (settings != Settings(rtl=rtl) or others):
        raise ValueError("--pci must stand with no other option than --rtl, --cache and -j")
    if pcap is not None:
        suffix_of(pcap)
        check_target(pcap)
    if report is not None:
        check_target(report / "lab.html", made=True)
    _have_packages(kept)
    progress = partial(typer.echo, err=True)
    if pci:
        from .pci_run import run_pci

        found = run_pci(kept, rtl=rtl, progress=progress)
        _shown(found, found["failed"], json_)
        return
    series = Series()
    go = partial(run, kept, settings, keep=pcap is not None, watch=series.watch)
    if monitor:
        from .watching import watched

        outcome = watched(lambda served: go(port=0, served=served))
    else:
        outcome = go(progress=progress, port=serve)
    if pcap is not None:
        write(pcap, outcome.wire)
    if report is not None:
        from .page import write_page

        progress(f"page: {write_page(report, outcome, series)}")
    _shown(outcome.figures, outcome.differences, json_)


def _have_packages(kept: "Cache") -> None:
    """Fetch the packages that are missing.

    Raises
    ------
    LabError
        Something is missing that cannot be fetched.
    """
    from .packages import LabError

    absent = kept.missing()
    if absent and all(how.startswith("precog lab --fetch") for how in absent.values()):
        typer.echo(f"fetching {len(absent)} packages into {kept.folder}", err=True)
        kept.fetch()
        absent = kept.missing()
    if absent:
        what, how = next(iter(absent.items()))
        raise LabError(f"{what} must be there: {how}; precog lab --check lists all")


def _check_view(monitor: bool, serve: int | None, json_: bool) -> None:
    """Whether somebody can look."""
    if serve is not None and not 1 <= serve <= 65535:
        raise ValueError(f"serve must be a UDP port, 1..65535, not {serve}")
    if not monitor:
        return
    if json_ or serve is not None:
        raise ValueError("--monitor must come without -j and --serve: it is a view of a terminal")
    if not sys.stdout.isatty() and "TEXTUAL_DRIVER" not in os.environ:
        raise ValueError("--monitor needs a terminal: give --serve PORT, and precog monitor there")


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
