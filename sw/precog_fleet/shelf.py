"""A store on disk: SQLite, one transaction for a batch, on disk when `save` returns."""

import errno
import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

from .outcome import Row
from .store import Store

__all__ = ["Shelf"]

_SCHEMA = """
CREATE TABLE IF NOT EXISTS pairs (
    origin TEXT, key TEXT, version INTEGER NOT NULL, t1 INTEGER NOT NULL, frame BLOB,
    PRIMARY KEY (origin, key)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS reserved (name TEXT PRIMARY KEY, version INTEGER NOT NULL);
"""
_BLOCK = 1024  # versions that one write to disk reserves


class Shelf:
    """The file of a store's pairs and of its member's own versions.

    Parameters
    ----------
    path : Path
        Made if it is not there.

    Raises
    ------
    ValueError
        The file is not such a database.
    OSError
        The disk is full.

    Attributes
    ----------
    error : str
        Why the last `try_to_keep` could not write; empty if it did.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._db = sqlite3.connect(path, isolation_level=None)
        try:
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA synchronous = FULL")
            self._db.executescript(_SCHEMA)
        except sqlite3.DatabaseError as error:
            self._db.close()
            if error.sqlite_errorcode == sqlite3.SQLITE_FULL:
                raise self._full() from error
            raise ValueError(f"{path} must be a store of records, but: {error}") from error
        self.error = ""
        self._next = self._limit = 0

    def rows(self) -> list[Row]:
        """Everything that was saved."""
        return [Row(*row) for row in self._db.execute("SELECT * FROM pairs")]

    def keep(self, store: Store) -> None:
        """Write what is new in a store. What cannot be written now goes with the next call.

        Raises
        ------
        OSError, sqlite3.Error
            As `save`.
        """
        self.save(store.changed())
        store.saved()

    def try_to_keep(self, store: Store) -> bool:
        """As `keep`; False, and told in `error`, if it cannot be written."""
        try:
            self.keep(store)
            self.error = ""
        except (OSError, sqlite3.Error) as error:
            self.error = str(error)
        return not self.error

    def save(self, changes: Iterable[Row | tuple[str, str]]) -> None:
        """Write what `Store.changed` gave, all or nothing.

        Raises
        ------
        OSError
            The disk is full; the file is as it was.
        sqlite3.Error
            It cannot be written for another reason; the file is as it was.
        """
        changes = list(changes)
        if not changes:
            return
        kept = [
            (row.origin, row.key, row.version, row.t1, row.frame)
            for row in changes
            if isinstance(row, Row)
        ]
        with self._transaction():
            self._db.executemany("INSERT OR REPLACE INTO pairs VALUES (?, ?, ?, ?, ?)", kept)
            self._db.executemany(
                "DELETE FROM pairs WHERE origin = ? AND key = ?",
                [pair for pair in changes if not isinstance(pair, Row)],
            )

    def next_version(self, now: int) -> int:
        """A version above all that this file ever gave, whatever crashed in between.

        Versions start at the time in milliseconds, so those of a lost file are below, too.

        Raises
        ------
        OSError, sqlite3.Error
            As `save`; none of the versions counts as reserved then.
        """
        if self._next == self._limit:
            row = self._db.execute("SELECT version FROM reserved WHERE name = 'own'").fetchone()
            first = max(now, row[0] if row else 1)
            with self._transaction():
                self._db.execute(
                    "INSERT OR REPLACE INTO reserved VALUES ('own', ?)", (first + _BLOCK,)
                )
            self._next, self._limit = first, first + _BLOCK
        self._next += 1
        return self._next - 1

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """All or nothing."""
        try:
            with self._db:
                self._db.execute("BEGIN IMMEDIATE")
                yield
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode == sqlite3.SQLITE_FULL:
                raise self._full() from error
            raise

    def _full(self) -> OSError:
        problem = f"{os.strerror(errno.ENOSPC)}: make room for it, then try again"
        return OSError(errno.ENOSPC, problem, str(self._path))

    def skip(self) -> None:
        """Let the next version be the time again: others of this member were above the last."""
        self._next = self._limit

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
