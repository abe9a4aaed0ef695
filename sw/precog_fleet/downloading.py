"""HTTP downloads that no server can keep going for ever.

A server that sends a byte now and then, of its headers or of a file, never makes a socket time out.
So each download has a thread of its own, and the caller waits no longer than until its deadline.
"""

import queue
import threading
from collections.abc import Callable, Iterator

from tuf.api.exceptions import SlowRetrievalError
from tuf.ngclient.urllib3_fetcher import Urllib3Fetcher
from urllib3.exceptions import TimeoutError
from urllib3.response import BaseHTTPResponse

__all__ = ["Download", "PromptFetcher"]

_AHEAD = 8  # chunks that wait for the caller
_LOOK_S = 0.1


class PromptFetcher(Urllib3Fetcher):
    """Gives bytes as they come; `Urllib3Fetcher` waits until a chunk is full."""

    def _chunks(self, response: BaseHTTPResponse) -> Iterator[bytes]:
        try:
            while chunk := response.read1(self.chunk_size):
                yield chunk
        except TimeoutError as error:
            raise SlowRetrievalError(str(error)) from error
        finally:
            response.release_conn()


class Download:
    """One download.

    Parameters
    ----------
    begin : callable
        Sends the question, and gives the answer's bytes once its headers are here.
    """

    def __init__(self, begin: Callable[[], Iterator[bytes]]) -> None:
        self._begin = begin
        self._items: queue.Queue[bytes | Exception | None] = queue.Queue(_AHEAD)
        self._given_up = threading.Event()
        self._thread = threading.Thread(target=self._work, name="download", daemon=True)
        self._thread.start()

    @property
    def hangs(self) -> bool:
        """Whether its thread still waits for the server."""
        return self._thread.is_alive()

    def _work(self) -> None:
        try:
            chunks = self._begin()
            going = self._put(b"")  # the headers are here
            while going and (chunk := next(chunks, None)) is not None:
                going = self._put(chunk)
            self._put(None)
        except Exception as error:  # the caller's
            self._put(error)

    def _put(self, item: bytes | Exception | None) -> bool:
        while not self._given_up.is_set():
            try:
                self._items.put(item, timeout=_LOOK_S)
            except queue.Full:
                continue
            return True
        return False

    def take(self, limit_s: float) -> bytes | None:
        """The next bytes, none at all at first; None: that was all.

        Raises
        ------
        SlowRetrievalError
            They take longer than `limit_s`; the download is given up.
        Exception
            Whatever went wrong in the thread.
        """
        try:
            item = self._items.get(timeout=max(limit_s, 0.0))
        except queue.Empty:
            self._given_up.set()
            raise SlowRetrievalError("answer takes too long") from None
        if isinstance(item, Exception):
            raise item
        return item

    def give_up(self) -> None:
        """The rest is not wanted."""
        self._given_up.set()
