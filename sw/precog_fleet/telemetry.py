"""Telemetry of an agent: windows of its queues and what came true, as Parquet parts on disk.

    observations ─► pending rows ─► part in memory ─► temporary file, fsync, rename ─► folder
                     (lost with                        oldest parts go first where the folder
                      the process)                     would grow beyond its bound

One schema serves all agents: a row is a window of one queue, the distribution that the model made
of it, and the queue's length one and four base RTTs later. Rows carry the contract's hash, so that
windows of other formats are never mixed. Nothing here ends an agent: a part that is damaged is set
aside, a full disk keeps rows in memory up to a bound, and all of it is counted.
"""

import errno
import fcntl
import os
from collections import Counter, deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from precog_models.data.windows import HORIZONS, STEPS
from precog_models.durable import write_durably
from precog_spec.contract import CONTRACT_HASH, MAX_OUTPUTS, PROBABILITY, PROFILE_INPUTS

__all__ = ["SCHEMA", "Observation", "Telemetry", "read_part"]

Ints = NDArray[np.int64]

_WORD = (1 << 32) - 1
#: Columns of every part.
SCHEMA = pa.schema(
    [
        ("t", pa.int64()),  # ms of Unix time at the newest sample
        ("origin", pa.string()),  # member
        ("device", pa.string()),
        ("qp", pa.int32()),
        ("destination", pa.string()),  # address of the peer; empty: unknown
        ("contract", pa.uint32()),
        ("set", pa.uint8()),  # weight set of the card
        ("version", pa.uint32()),  # of the model
        ("model", pa.uint32()),  # CRC-32 of its image; 0: none ran
        ("signals", pa.list_(pa.int64(), STEPS * len(PROFILE_INPUTS))),  # oldest sample first
        ("predicted", pa.list_(pa.uint16(), MAX_OUTPUTS)),  # of 32768; zeros: none
        ("later", pa.list_(pa.int64(), len(HORIZONS))),  # bytes, at each horizon
        ("highest", pa.list_(pa.int64(), len(HORIZONS))),  # most bytes until then
    ]
)
_SUFFIX = ".parquet"
_MOST_ROWS = 65_536  # of a part
_ROW_BYTES, _SPARE_ROWS = 1024, 4096  # a row has some 400 bytes; dictionaries come once
_MAX_TEXT = 255
_LEAST_BYTES = 1 << 14  # two rows with the longest texts, each in a part of its own
_TEXTS = tuple(column.name for column in SCHEMA if column.type == pa.string())


@dataclass(frozen=True, eq=False)
class Observation:
    """A window of one queue, and what came true.

    Parameters
    ----------
    t : int
        Milliseconds of Unix time at the newest sample.
    device : str
        As the host names it.
    qp : int
        Slot of the queue pair.
    destination : str
        Address of its peer; empty where it is not known.
    set, version, model : int
        Weight set, version and CRC-32 of the model that ran; 0 without one.
    signals : ndarray of int64, shape (8, 4)
        Bytes queued, ticks between arrivals, ticks of service, bytes of the last arrival.
    predicted : ndarray of int64, shape (16,)
        Its distribution, 32768 in all; zeros without one.
    later, highest : ndarray of int64, shape (2,)
        Bytes in the queue after 1 and 4 base RTTs, and the most until then.

    Raises
    ------
    ValueError
        A shape differs, or a number is out of its range.
    """

    t: int
    device: str
    qp: int
    destination: str
    set: int
    version: int
    model: int
    signals: Ints
    predicted: Ints
    later: Ints
    highest: Ints

    def __post_init__(self) -> None:
        shapes = {
            "signals": (STEPS, len(PROFILE_INPUTS)),
            "predicted": (MAX_OUTPUTS,),
            "later": (len(HORIZONS),),
            "highest": (len(HORIZONS),),
        }
        for name, shape in shapes.items():
            array = getattr(self, name)
            if array.shape != shape:
                raise ValueError(f"{name} must have shape {shape}, not {array.shape}")
            if array.min() < 0:
                raise ValueError(f"{name} must not be negative, not {array.min()}")
        for name, high in (("qp", 65535), ("set", 255), ("version", _WORD), ("model", _WORD)):
            if not 0 <= getattr(self, name) <= high:
                raise ValueError(f"{name} must be in 0..{high}, not {getattr(self, name)!r}")
        total = int(self.predicted.sum())
        if total not in (0, PROBABILITY.one):
            raise ValueError(f"predicted must be {PROBABILITY.one} in all, or zeros, not {total}")


def _row(origin: str, of: Observation) -> dict[str, Any]:
    arrays = {
        name: getattr(of, name).ravel().tolist()
        for name in ("signals", "predicted", "later", "highest")
    }
    plain = {name: getattr(of, name) for name in ("t", "device", "qp", "destination")}
    model = {name: getattr(of, name) for name in ("set", "version", "model")}
    return {"origin": origin, "contract": CONTRACT_HASH, **plain, **model, **arrays}


def read_part(path: Path, most_rows: int = _MOST_ROWS) -> pa.Table:
    """The rows of a part; bounds are looked at before anything is expanded.

    Raises
    ------
    ValueError
        The file is damaged, it is no part, or it holds more than any agent writes.
    OSError
        It cannot be opened.
    """
    with path.open("rb") as file:
        try:
            _check_bounds(path, pq.ParquetFile(file), most_rows)
            # A dictionary has a long text once, however many rows repeat it.
            options = {"read_dictionary": list(_TEXTS), "page_checksum_verification": True}
            part = pq.ParquetFile(file, **options)
            table = part.read()
            for name in _TEXTS:
                _check_texts(path, name, table[name])
            return table.cast(SCHEMA)
        except (pa.ArrowException, OSError) as error:
            raise ValueError(f"{path} must be a Parquet file, but is damaged: {error}") from error


def _check_bounds(path: Path, part: pq.ParquetFile, most_rows: int) -> None:
    if not part.schema_arrow.equals(SCHEMA):
        names = part.schema_arrow.names
        raise ValueError(f"{path} must have the columns of telemetry, not {names}")
    groups = [part.metadata.row_group(n) for n in range(part.metadata.num_row_groups)]
    rows = sum(group.num_rows for group in groups)
    if rows > most_rows:
        raise ValueError(f"{path} must have at most {most_rows} rows, not {rows}")
    size, most = sum(group.total_byte_size for group in groups), _ROW_BYTES * (rows + _SPARE_ROWS)
    if size > most:
        raise ValueError(f"{path} must expand to at most {most} bytes, not {size}")


def _check_texts(path: Path, name: str, column: pa.ChunkedArray) -> None:
    longest = max((len(t) for c in column.chunks for t in c.dictionary.to_pylist()), default=0)
    if longest > _MAX_TEXT:
        raise ValueError(
            f"{name} must have at most {_MAX_TEXT} characters in {path}, not {longest}"
        )


class Telemetry:
    """The parts of one agent; one process writes them.

    Parameters
    ----------
    folder : Path
        Made if it is not there.
    origin : str
        The member's name.
    max_bytes : int
        Of all parts together.
    rows : int
        A part is written when this many wait.
    age_ms : int
        Or when the first of them has waited so long.
    pending : int
        Rows that wait at most, while the disk takes none.
    write : callable
        Replaces a file durably, as `durable.write_durably`.

    Attributes
    ----------
    counts : Counter of str
        ``rows`` and ``parts`` written; ``parts_evicted`` for room; ``rows_lost`` that waited in
        vain; ``damaged`` parts set aside; ``failed`` writes.
    error : str
        Why the last write failed; empty if it did not.

    Raises
    ------
    ValueError
        A number is not positive, or another process writes to the folder.
    OSError
        The folder cannot be used.
    """

    def __init__(
        self,
        folder: Path,
        origin: str,
        *,
        max_bytes: int = 1 << 30,
        rows: int = 4096,
        age_ms: int = 60_000,
        pending: int = _MOST_ROWS,
        write: Callable[[Path, bytes], None] = write_durably,
    ) -> None:
        for name, value, least in (
            ("max_bytes", max_bytes, _LEAST_BYTES),
            ("rows", rows, 1),
            ("age_ms", age_ms, 1),
        ):
            if value < least:
                raise ValueError(f"{name} must be at least {least}, not {value!r}")
        if pending < rows:
            raise ValueError(f"pending must be at least rows, {rows}, not {pending!r}")
        self.folder = folder
        self.origin = origin
        self.counts: Counter[str] = Counter()
        self.error = ""
        self._limit, self._rows, self._age, self._write = max_bytes, rows, age_ms, write
        self._pending: deque[Observation] = deque(maxlen=pending)
        self._since = 0
        self._retry_at = 0  # after a write that failed
        folder.mkdir(parents=True, exist_ok=True)
        self._lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(self._lock)
            raise ValueError(f"{folder} must have one writer, but another has it open") from error
        self._sizes = self._recover()
        self._serial = max((int(path.stem) for path in self._sizes), default=0)

    def _recover(self) -> dict[Path, int]:
        """Sizes of sound parts, the oldest first; the rest is cleared away."""
        for stray in self.folder.glob("*.part"):
            stray.unlink(missing_ok=True)
        sizes = {}
        for path in sorted(self.folder.glob(f"*{_SUFFIX}")):
            try:
                if not path.stem.isdecimal():
                    raise ValueError(f"{path} must be named by its number")
                with path.open("rb") as file:
                    pq.read_metadata(file)
                sizes[path] = path.stat().st_size
            except (pa.ArrowException, ValueError, OSError):
                self._set_aside(path)
        return sizes

    def _set_aside(self, path: Path) -> None:
        """Keep the last damaged part for who wants to know, out of all readers' way."""
        self.counts["damaged"] += 1
        for older in self.folder.glob("*.damaged"):
            older.unlink(missing_ok=True)
        with suppress(OSError):
            path.replace(path.with_suffix(".damaged"))

    # --- writing ---------------------------------------------------------------------------------

    def add(self, observations: Iterable[Observation], now: int) -> None:
        """Take rows at `now`, ms; they wait for the next part."""
        for observation in observations:
            if not self._pending:
                self._since = now
            self.counts["rows_lost"] += len(self._pending) == self._pending.maxlen
            self._pending.append(observation)
        self.poll(now)

    def poll(self, now: int) -> None:
        """Write a part if enough rows wait, or the first one has waited long enough."""
        if not self._pending or (self.error and 0 <= self._retry_at - now <= self._age):
            return
        # A clock that was set back makes a row old, too.
        old = not 0 <= now - self._since < self._age
        if old or len(self._pending) >= self._rows:
            self.flush(now)

    def flush(self, now: int) -> bool:
        """Write waiting rows; False, and counted, if the disk does not take them: they stay."""
        while self._pending:
            count, data = self._part()
            path = self.folder / f"{max(now, self._serial + 1):015d}{_SUFFIX}"
            self._make_room(self._limit - len(data))
            if not self._written(path, data):
                self._retry_at = now + self._age
                return False
            self.error = ""
            self._serial = int(path.stem)
            self._sizes[path] = len(data)
            for _ in range(count):
                self._pending.popleft()
            self.counts["parts"] += 1
            self.counts["rows"] += count
        return True

    def _part(self) -> tuple[int, bytes]:
        """The oldest waiting rows, as many as make half of the bound, and their file."""
        rows = [_row(self.origin, one) for one in self._pending]
        while True:
            sink = pa.BufferOutputStream()
            pq.write_table(
                pa.Table.from_pylist(rows, SCHEMA),
                sink,
                compression="zstd",
                write_page_checksum=True,
            )
            if sink.tell() <= self._limit // 2 or len(rows) == 1:
                return len(rows), sink.getvalue().to_pybytes()
            rows = rows[: len(rows) // 2]

    def _written(self, path: Path, data: bytes) -> bool:
        """Write a part. On a full disk older parts give way, but not for what others write."""
        enough = max(0, self.size - 2 * len(data))
        while True:
            try:
                self._write(path, data)
                return True
            except OSError as error:
                self.counts["failed"] += 1
                self.error = f"{error.filename or path}: {error.strerror or error}"
                full = error.errno in (errno.ENOSPC, errno.EDQUOT)
                if not full or self.size <= enough or not self._evict():
                    return False

    def _make_room(self, left: int) -> None:
        """Delete the oldest parts until those that are left have at most `left` bytes."""
        while self.size > left and self._evict():
            pass

    def _evict(self) -> bool:
        """Delete the oldest part; False: there is none."""
        if not self._sizes:
            return False
        path = next(iter(self._sizes))
        del self._sizes[path]
        with suppress(OSError):
            path.unlink(missing_ok=True)
        self.counts["parts_evicted"] += 1
        return True

    @property
    def waiting(self) -> int:
        """Rows that a crash would lose now."""
        return len(self._pending)

    @property
    def size(self) -> int:
        """Bytes of all parts."""
        return sum(self._sizes.values())

    def close(self, now: int) -> None:
        """Write waiting rows, and let others write to the folder."""
        self.flush(now)
        os.close(self._lock)
