"""Downloads for TUF: from a folder or by HTTP, with a bound on time as well as on bytes.

TUF bounds the length of every file. A server that sends a byte a minute keeps within it for ever;
so one deadline holds for all downloads of an update.
"""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import unquote, urlsplit

from tuf.api.exceptions import DownloadError, DownloadHTTPError, SlowRetrievalError
from tuf.ngclient import FetcherInterface
from urllib3.exceptions import NewConnectionError

from .downloading import Download, PromptFetcher
from .places import REPOSITORY, require

__all__ = ["BoundedFetcher", "checked_source"]

_CHUNK = 1 << 16
_MISSING = 404
_SILENCE_S = 10
_HANGING = 4  # downloads that were given up, but whose server goes on


def checked_source(source: str) -> str:
    """The base URL of a folder, or of a server ``http://…`` or ``https://…``.

    Raises
    ------
    ValueError
        It is neither, or the folder is no repository.
    """
    parts = urlsplit(source)
    if parts.scheme in ("http", "https"):
        if not parts.hostname or parts.query or parts.fragment:
            raise ValueError(f"releases must be at a server, without a query, not {source!r}")
        return source.rstrip("/")
    if "://" in source:
        raise ValueError(f"releases must be a folder, http:// or https://, not {source!r}")
    require(Path(source), REPOSITORY)
    return Path(source).resolve().as_uri()


class BoundedFetcher(FetcherInterface):
    """Fetches files, those of one update after the other.

    Parameters
    ----------
    limit_s : float
        Seconds for one update.
    clock : callable
        Seconds that only grow.
    """

    def __init__(self, limit_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._limit_s = limit_s
        self.restart()
        self._http = PromptFetcher(socket_timeout=_SILENCE_S, chunk_size=_CHUNK)
        self._downloads: list[Download] = []

    def restart(self) -> None:
        """Begin another update: all of its time is left."""
        self._end = self._clock() + self._limit_s

    def _fetch(self, url: str) -> Iterator[bytes]:
        self._check(url)
        parts = urlsplit(url)
        if parts.scheme == "file":
            path = Path(unquote(parts.path))
            if not path.is_file():
                raise DownloadHTTPError(f"{path} is not there", _MISSING)
            return self._timed(url, self._file(path))
        return self._download(url)

    def _download(self, url: str) -> Iterator[bytes]:
        self._downloads = [one for one in self._downloads if one.hangs]
        if len(self._downloads) >= _HANGING:
            raise SlowRetrievalError(f"{url}: {_HANGING} earlier downloads still hang")
        download = Download(lambda: self._http._fetch(url))
        self._downloads.append(download)
        try:
            download.take(self._left)
        except SlowRetrievalError as error:
            # A refused connection is among urllib3's time-outs.
            reason = getattr(error.__cause__, "reason", None) or error
            kind = DownloadError if isinstance(reason, NewConnectionError) else SlowRetrievalError
            raise kind(f"{url}: {reason}") from error
        return self._taken(download)

    def _taken(self, download: Download) -> Iterator[bytes]:
        try:
            while (chunk := download.take(self._left)) is not None:
                yield chunk
        finally:
            download.give_up()

    def _file(self, path: Path) -> Iterator[bytes]:
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK):
                yield chunk

    def _timed(self, url: str, chunks: Iterator[bytes]) -> Iterator[bytes]:
        for chunk in chunks:
            self._check(url)
            yield chunk

    @property
    def _left(self) -> float:
        return self._end - self._clock()

    def _check(self, url: str) -> None:
        if self._clock() > self._end:
            raise SlowRetrievalError(f"{url} takes too long")
