"""What processes of members share: records on disk, the role, a status file, signals."""

import json
import os
import signal
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from .bodies import Membership
from .errors import FleetError
from .member import Member
from .shelf import Shelf
from .store import Store

__all__ = ["check_role", "opened_store", "until_stopped", "write_status"]


def until_stopped(turn: Callable[[], None]) -> None:
    """Repeat a turn until SIGINT or SIGTERM."""
    stop = threading.Event()
    before = {s: signal.signal(s, lambda *_: stop.set()) for s in (signal.SIGINT, signal.SIGTERM)}
    try:
        while not stop.is_set():
            turn()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def opened_store(
    member: Member, shelf: Shelf, now: int, bases: Callable[[], Iterable[int]] | None = None
) -> Store:
    """The member's records: those of its disk, and memberships that came with its credentials."""
    store = Store(member.info.public, bases=bases)
    for frame in member.memberships():
        store.receive(frame, now)
    store.outcomes.clear()
    store.restore(shelf.rows(), now)
    return store


def check_role(member: Member, store: Store, role: str) -> None:
    known = store.members.get(member.name)
    if not isinstance(known, Membership) or known.role != role:
        raise FleetError(
            f"{member.folder} must be a member of role {role}, not "
            f"{known.role if known else 'none'}: enroll another folder with --role {role}"
        )


def write_status(path: Path, status: dict[str, Any]) -> None:
    """For who looks at the folder; a lost one is no loss, so nothing is synced."""
    part = path.with_suffix(f".{os.getpid()}.part")
    with suppress(OSError):
        part.write_text(json.dumps(status, sort_keys=True))
        part.replace(path)
