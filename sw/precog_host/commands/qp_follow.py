"""``precog qp follow``: slots that come and go with the queue pairs of the kernel's RDMA stack."""

import hashlib
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from precog_host.output import DeviceOption, JsonOption, emit, printable, refuse_ignored

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

if TYPE_CHECKING:
    from precog_host.beliefs import Guess, Ip
    from precog_host.rdma_follow import Change
    from precog_host.rdma_import import Planned
    from precog_host.trial import Counts, Trial
    from precog_models.forecast.starts import StartForecaster

__all__ = ["follow"]

_COMMAND = "rdma -j resource show qp"
_PATIENCE_S = 10.0


def follow(
    context: typer.Context,
    remote: RemoteOption = None,
    peer: PeerOption = None,
    source: Annotated[
        str | None,
        typer.Option(
            "--from", help="File with one list a line, or -, instead of running the command."
        ),
    ] = None,
    command: Annotated[str, typer.Option(help="Program that prints the list.")] = _COMMAND,
    every: Annotated[float, typer.Option(min=0.05, help="Seconds between two lists.")] = 1.0,
    count: Annotated[
        int | None, typer.Option(min=1, help="End after this many lists; by default at ^C.")
    ] = None,
    ifname: IfnameOption = None,
    port: PortOption = None,
    preset: PresetOption = "precog",
    algorithm: AlgorithmOption = None,
    mode: ModeOption = "off",
    mtu: MtuOption = 1024,
    first_slot: FirstSlotOption = 0,
    believe: Annotated[
        bool,
        typer.Option(
            "--believe",
            help="A new queue pair believes the level that its peer told those before it. For a "
            "device that counts senders, with precog packet senders set --heed.",
        ),
    ] = False,
    model: Annotated[
        str | None,
        typer.Option(
            help="With --believe: where this model of starts, a file, has shown skill, its guess "
            "takes the place of that level. For a device with grants and profile."
        ),
    ] = None,
    prior: Annotated[
        list[Path] | None,
        typer.Option(
            help="With --model: what became of this model's guesses at other hosts, a file of "
            "--outcomes. It may shorten the model's trial, and never replaces it. Often."
        ),
    ] = None,
    outcomes: Annotated[
        Path | None,
        typer.Option(
            help="With --model: file for what becomes of its guesses here, as --prior takes it. It "
            "is replaced whenever queue pairs have gone."
        ),
    ] = None,
    device: DeviceOption = "emu:",
    json_: JsonOption = False,
) -> None:
    """Keep a device's queue pairs equal to the kernel's: bind the new, release those that went.

    Queue pairs that are bound already are taken over, and slots of others are left alone. At the
    end all stay as they are, so that traffic goes on.
    """
    from precog_host import rdma_list
    from precog_host.beliefs import Beliefs
    from precog_host.device import Device
    from precog_host.rdma_follow import Follower
    from precog_spec.frames.qp_key import parse_address

    if source is not None and command != _COMMAND:
        raise ValueError("command must be left out with --from")
    if not believe:
        refuse_ignored(context, "model", why="without --believe")
    if model is None:
        refuse_ignored(context, "prior", "outcomes", why="without --model")
    tried = None if model is None else _tried(model, prior or (), outcomes)
    peers = rdma_list.peers_of(peer or ())
    address = None if remote is None else parse_address(remote)
    with Device.open(device) as opened:
        check_binding(opened, device, address is not None or bool(peers))
        heard = (None, None) if tried is None else (tried.forecaster, tried.prior)
        beliefs = Beliefs(opened, heard[0], prior=heard[1]) if believe else None
        follower = Follower(
            opened,
            preset=preset,
            algorithm=algorithm,
            mode=mode,
            mtu=mtu,
            first_slot=first_slot,
            beliefs=beliefs,
        )
        lists = _recorded(source) if source is not None else _asked(command, every)
        for number, text in enumerate(lists, 1):
            qps, skipped = rdma_list.read_list(text, ifname=ifname, port=port)
            change = follower.update(qps, skipped, remote=address, peers=peers)
            _show(number, change, len(follower.followed), model is not None, json_)
            if tried is not None and beliefs is not None and change.released:
                tried.keep(beliefs.trial)
            if number == count:
                break
        if tried is not None and beliefs is not None and tried.error:
            tried.write(beliefs.trial)


@dataclass
class _Tried:
    """A model of starts, what others say of it, and where this host's outcomes go."""

    forecaster: "StartForecaster"
    digest: str
    prior: "dict[Ip, Counts]"
    outcomes: Path | None
    error: str = ""

    def keep(self, trial: "Trial") -> None:
        """As `write`. A full disk ends no following: it is told once, and the next time writes."""
        before, self.error = self.error, ""
        try:
            self.write(trial)
        except OSError as error:
            self.error = f"file {self.outcomes}: {error.strerror}; trying again"
        if self.error != before:
            typer.echo(printable(self.error or f"file {self.outcomes}: written again"), err=True)

    def write(self, trial: "Trial") -> None:
        from precog_host.outcomes import write_outcomes

        if self.outcomes is not None:
            write_outcomes(self.outcomes, self.digest, trial.outcomes())


def _tried(model: str, prior: Sequence[Path], outcomes: Path | None) -> _Tried:
    """The model of starts that a user means."""
    from precog_host.outcomes import read_outcomes
    from precog_host.trial import merged
    from precog_models.durable import check_target
    from precog_models.forecast.starts import StartForecaster
    from precog_models.model_file import ModelImageError
    from precog_models.tree_image import find_any

    image = find_any(model)
    try:
        forecaster = StartForecaster(image)
    except ModelImageError as error:
        raise ModelImageError(f"{model}: {error}") from error
    digest = hashlib.sha256(image.to_bytes()).hexdigest()
    known = merged(read_outcomes(path, digest) for path in prior)
    if outcomes is not None:
        check_target(outcomes)
    return _Tried(forecaster, digest, known, outcomes)


def _recorded(source: str) -> Iterator[str]:
    """Lists of a file or of standard input, one a line."""
    from precog_models.limits import LIST_BYTES

    if source == "-":
        yield from _lines(sys.stdin.buffer, source, LIST_BYTES)
    else:
        with Path(source).open("rb") as file:
            yield from _lines(file, source, LIST_BYTES)


def _lines(file: Any, source: str, limit: int) -> Iterator[str]:
    while line := file.readline(limit + 1):
        if len(line) > limit:
            raise ValueError(f"list must have at most {limit >> 20} MiB: {source}")
        if line.strip():
            yield line.decode("utf-8", errors="replace")


def _asked(command: str, every: float) -> Iterator[str]:
    """Lists of a program that runs again and again."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise ValueError(f"command must be words of a shell, not {command!r}: {error}") from None
    if not words:
        raise ValueError("command must name a program, not be empty")
    while True:
        began = time.monotonic()
        try:
            # Names of processes are in what it prints, and may have any bytes.
            done = subprocess.run(
                words,
                capture_output=True,
                encoding="utf-8",
                errors="replace",
                timeout=_PATIENCE_S,
            )
        except FileNotFoundError:
            raise ValueError(
                f"command must be a program that is there, not {words[0]!r}: rdma is in iproute2"
            ) from None
        except subprocess.TimeoutExpired:
            raise RuntimeError(f"{command} must answer within {_PATIENCE_S:.0f} s") from None
        if done.returncode:
            raise RuntimeError(f"{command} failed: {done.stderr.strip() or done.returncode}")
        yield done.stdout or "[]"
        time.sleep(max(0.0, every - (time.monotonic() - began)))


def _show(number: int, change: "Change", followed: int, modelled: bool, json_: bool) -> None:
    """One line for each list that changed something; each list with -j."""
    data = {
        "list": number,
        **{
            name: [_row(one) for one in getattr(change, name)]
            for name in ("added", "adopted", "released")
        },
        "followed": followed,
        "skipped": change.skipped,
        "believed": {str(slot): level for slot, level in change.believed.items()},
        "guesses": {str(slot): _guess_row(guess) for slot, guess in change.guesses.items()},
    }

    def show() -> None:
        for name in ("added", "adopted", "released"):
            for one in getattr(change, name):
                peer = "" if one.remote is None else f" of {one.remote}"
                qps = f"QP {one.qp.lqpn} to {one.qp.rqpn}{peer}"
                said = f"{name:8} slot {one.slot}: {one.qp.ifname} {qps}, {one.qp.owner}"
                typer.echo(printable(said))  # the process's owner chose its name
        for slot, guess in change.guesses.items():
            if modelled:
                typer.echo(_told(slot, guess))
            elif guess.belief is not None:
                typer.echo(
                    f"believes slot {slot}: level {guess.belief}, as its peer told those before it"
                )

    if json_ or change.added or change.adopted or change.released:
        emit(data, show, json_)
        sys.stdout.flush()  # a program may read along


def _told(slot: int, guess: "Guess") -> str:
    """A model's guess in a line, and what is believed."""
    known = guess.level is not None
    guessed = f"level {guess.level} of {guess.size} bytes" if known else "nothing"
    if guess.belief is None:
        why = "not believed" if known else "no queue pair that sent to its peer has ended"
        said = f"guesses  slot {slot}: {guessed}, {why}"
    elif guess.heeded and known:
        said = f"believes slot {slot}: level {guess.belief}, as the model guesses"
    else:
        last = f"level {guess.belief}, as its peer told those before it"
        said = f"believes slot {slot}: {last}; the model guesses {guessed}"
    return f"{said}; {_skill(guess)}"


def _skill(guess: "Guess") -> str:
    """How good the model has been at the peer."""
    from precog_host.trial import EVIDENCE

    if guess.skill is not None:
        return f"skill {guess.skill:.2f}"
    crowded, others = guess.evidence
    ended = f"{crowded} of {EVIDENCE} crowded starts and {others} of {EVIDENCE} others have ended"
    lent = f", others lend {guess.lent} crowded starts" if guess.lent else ""
    return f"{'heeded early' if guess.heeded else 'no skill yet'}: {ended}{lent}"


def _guess_row(guess: "Guess") -> dict[str, Any]:
    return {
        "level": guess.level,
        "last": guess.last,
        "size": guess.size,
        "heeded": guess.heeded,
        "skill": guess.skill,
        "crowded": guess.evidence.crowded,
        "others": guess.evidence.others,
        "lent": guess.lent,
    }


def _row(one: "Planned") -> dict[str, Any]:
    return {
        "slot": one.slot,
        "ifname": one.qp.ifname,
        "lqpn": one.qp.lqpn,
        "rqpn": one.qp.rqpn,
        "remote": None if one.remote is None else str(one.remote),
        "destination": one.destination,
    }
