"""``precog replay``: a capture through the packet path, insertion and extraction, in RTL."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from precog_host.output import JsonOption, emit, progress_bar, table

if TYPE_CHECKING:
    from precog_sim.capture import Frame

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
    timeout_ms: Annotated[
        float, typer.Option(help="RTT time-out; 0: the longest, 4294 ms.")
    ] = 1000.0,
    mtu: Annotated[
        int | None,
        typer.Option(
            help="Path MTU of all connections, bytes; without it learnt from First and Middle "
            "packets, 1024 where there are none."
        ),
    ] = None,
    width: Annotated[
        int, typer.Option(help="Bits in a beat of the Verilated packet path: 8 to 512.")
    ] = 64,
    golden: Annotated[
        bool, typer.Option("--golden", help="The golden model alone, without RTL.")
    ] = False,
    json_: JsonOption = False,
) -> None:
    """Run a capture through the packet path in RTL: insert, extract, compare, take RTTs.

    Every packet goes through the golden model, too. Exit status 1 if the two differ anywhere, or
    if a packet did not come out as it went in. A packet that the capture cut goes through at its
    length on the wire; its ICRC cannot be checked and is in neither ICRC count.
    """
    from precog_hw.stream.packet import WIDTHS
    from precog_sim.capture import write
    from precog_sim.replay.run import replay as run
    from precog_spec.frames.qp_key import packed_address, parse_address

    if width not in WIDTHS:
        known = ", ".join(str(bits) for bits in WIDTHS)
        raise ValueError(f"width must be one of {known} bits, not {width}")
    timeout_ns = _ticks(timeout_ms)
    address = None if local is None else packed_address(parse_address(local, "local address"))
    _check_files(capture, out, wire)
    frames = _frames(capture)
    with progress_bar("golden model" if golden else f"RTL, {width} bits") as advance:
        found = run(
            frames,
            local=address,
            score=score,
            timeout_ns=timeout_ns,
            width=None if golden else width,
            mtu=mtu,
            progress=advance,
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
        if found.cut:
            typer.echo()
            typer.echo(f"{found.cut} packets were cut by the capture: their ICRC is not checked")

    emit(data, show, json_)
    for difference in found.differences[:_SHOWN]:
        typer.echo(difference, err=True)
    changed = found.packets - found.identical_after_extract
    if changed:
        text = f"{changed} of {found.packets} packets did not come out as they went in"
        if found.stripped:
            text += f"; {found.stripped} came with a shim already, which was removed"
        typer.echo(text, err=True)
    if found.differences or changed:
        raise typer.Exit(1)


def _frames(capture: Path) -> "list[Frame]":
    """All frames; of a file that was cut off inside a packet those before it, with a warning."""
    from precog_sim.capture import CutOff, read

    frames: list[Frame] = []
    try:
        frames.extend(read(capture))
    except CutOff as error:
        if not frames:
            raise
        typer.echo(f"warning: {error}; the {len(frames)} packets before it are used", err=True)
    return frames


def _ticks(timeout_ms: float) -> int:
    """The time-out in ticks, which are nanoseconds."""
    from precog_models.packet.card import TIMEOUT_MAX

    if not 0 <= timeout_ms * 1e6 <= TIMEOUT_MAX:  # nan is in no range
        most = TIMEOUT_MAX / 1e6
        raise ValueError(f"timeout-ms must be 0..{most:.6f} ms, not {timeout_ms:g}")
    return round(timeout_ms * 1e6)


def _check_files(capture: Path, out: Path | None, wire: Path | None) -> None:
    """Refuse before the run what could not be written after it, or would destroy something."""
    from precog_sim.capture import suffix_of

    for option, path in (("out", out), ("wire", wire)):
        if path is None:
            continue
        suffix_of(path)
        if not path.parent.is_dir():
            raise ValueError(f"--{option} must be in a folder that exists, not {path.parent}")
        if path.resolve() == capture.resolve() or (path.exists() and path.samefile(capture)):
            raise ValueError(f"--{option} must be another file than the capture, not {path}")
        _try_to_write(option, path)
    if out is not None and wire is not None and out.resolve() == wire.resolve():
        raise ValueError(f"--out and --wire must be two files, not both {out}")


def _try_to_write(option: str, path: Path) -> None:
    """Open a file as writing it would, and leave everything as it was."""
    target = path.resolve()  # unlinking a symbolic link would leave its target
    existed = target.exists()
    if existed and not target.is_file():
        return  # a pipe or a device: opening it would already do something
    try:
        target.open("ab").close()
    except OSError as error:
        raise ValueError(f"--{option} must be writable, not {path}: {error.strerror}") from error
    if not existed:
        target.unlink()
