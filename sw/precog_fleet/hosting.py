"""What processes of members share: records on disk, the role, a status file, signals."""

import json
import os
import signal
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from .clock import now_ms
from .member import Member
from .shelf import Shelf
from .store import Store

__all__ = ["check_role", "member_of_role", "opened_store", "until_stopped", "write_status"]


def until_stopped(turn: Callable[[], None]) -> None:
    """Repeat a turn until SIGINT or SIGTERM; the turn that is under way ends first.

    Raises
    ------
    KeyboardInterrupt
        It was SIGINT.
    """
    came: list[int] = []
    before = {
        s: signal.signal(s, lambda number, _: came.append(number))
        for s in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        while not came:
            turn()
        if came[0] == signal.SIGINT:
            raise KeyboardInterrupt
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def opened_store(
    member: Member, shelf: Shelf, now: int, bases: Callable[[], Iterable[int]] | None = None
) -> Store:
    """The member's records: those of its disk, and memberships that came with its credentials."""
    store = _joined(member, now, bases)
    store.restore(shelf.rows(), now)
    return store


def _joined(member: Member, now: int, bases: Callable[[], Iterable[int]] | None = None) -> Store:
    store = Store(member.info.public, bases=bases)
    for frame in member.memberships():
        store.receive(frame, now)
    store.outcomes.clear()
    return store


def member_of_role(folder: Path, role: str) -> Member:
    """The member of a folder, if it joined with a role; nothing is written.

    Raises
    ------
    ValueError
        The folder is not that of a member, or it has another role.
    """
    member = Member(folder)
    check_role(member, _joined(member, now_ms()), role)
    return member


def check_role(member: Member, store: Store, role: str) -> None:
    """Refuse a member of another role.

    Raises
    ------
    ValueError
        It has another role, none any more, or none yet by this host's clock.
    """
    known = store.members.get(member.name)
    if known is None:
        clock = datetime.fromtimestamp(now_ms() / 1000, UTC).isoformat(timespec="seconds")
        raise ValueError(
            f"{member.folder} must be a member by this host's clock, but at {clock} its "
            "membership has not begun or has ended: set the clock, or join with new credentials"
        )
    if known.revoked:
        raise ValueError(
            f"{member.folder} must be a member of role {role}, but is revoked: enroll another "
            f"folder with --role {role}"
        )
    if known.role != role:
        raise ValueError(
            f"{member.folder} must be a member of role {role}, not {known.role}: "
            f"enroll another folder with --role {role}"
        )


def write_status(path: Path, status: dict[str, Any]) -> None:
    """For who looks at the folder; a lost one is no loss, so nothing is synced."""
    part = path.with_suffix(f".{os.getpid()}.part")
    try:
        part.write_text(json.dumps(status, sort_keys=True))
        part.replace(path)
    except OSError:
        with suppress(OSError):
            part.unlink(missing_ok=True)
