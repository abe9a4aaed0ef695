"""The monitor of a lab: what ``precog monitor`` shows of a sender's card, while guests work.

The lab runs in a thread. The view ends with it; who leaves the view earlier waits for the lab.
"""

import asyncio
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from precog_host.monitor.sampling import Sampler
from precog_host.monitor.view import MonitorApp

if TYPE_CHECKING:
    from .run import Outcome

__all__ = ["record", "watched"]

#: Runs a lab; it calls its argument with the URI of a card that can be watched.
Work = Callable[[Callable[[str], None]], "Outcome"]

_INTERVAL_S = 0.5
_LOOK_S = 0.2
_SIZE = (118, 12)


class _View(MonitorApp):
    """The monitor, until the lab is done."""

    def __init__(self, lab: "_Running") -> None:
        super().__init__(Sampler(lab.uri), _INTERVAL_S)
        self._lab = lab

    def on_mount(self) -> None:
        # Textual calls the base class's handler, too.
        self.set_interval(_LOOK_S, self._look)

    def _look(self) -> None:
        if not self._lab.is_alive():
            self.exit()

    def close(self) -> None:
        """Give the card back."""
        self._sampler.close()


class _Running(threading.Thread):
    """A lab at work."""

    def __init__(self, work: Work) -> None:
        super().__init__()
        self._work = work
        self._known = threading.Event()
        self._outcome: Outcome | None = None
        self._error: BaseException | None = None
        self.uri = ""

    def run(self) -> None:
        """As a thread does."""
        try:
            self._outcome = self._work(self._served)
        except BaseException as error:  # raised again in the thread that waits
            self._error = error
        finally:
            self._known.set()

    def begun(self) -> bool:
        """Wait until a card can be watched; false if the lab has ended instead."""
        self.start()
        self._known.wait()
        return bool(self.uri)

    def outcome(self) -> "Outcome":
        """What came of it, once it is done."""
        self.join()
        if self._error is not None:
            raise self._error
        assert self._outcome is not None
        return self._outcome

    def _served(self, uri: str) -> None:
        self.uri = uri
        self._known.set()


def watched(work: Work) -> "Outcome":
    """Run a lab with the view of one of its cards in this terminal."""
    lab = _Running(work)
    if lab.begun():
        view = _View(lab)
        view.run()
        view.close()
    return lab.outcome()


def record(work: Work, every_s: float) -> "tuple[Outcome, list[tuple[float, str]]]":
    """Run a lab; pictures (SVG) of the view, each with its second, where something was to be seen.

    Parameters
    ----------
    work : callable
    every_s : float
        Seconds between two pictures.
    """
    lab = _Running(work)
    pictures: list[tuple[float, str]] = []

    async def watch() -> None:
        view = _View(lab)
        began = asyncio.get_running_loop().time()
        async with view.run_test(size=_SIZE) as pilot:
            while lab.is_alive():
                await pilot.pause(every_s)
                if lab.is_alive() and view.rows():
                    second = asyncio.get_running_loop().time() - began
                    pictures.append((second, str(view.export_screenshot(title="precog monitor"))))
        view.close()

    if lab.begun():
        asyncio.run(watch())
    return lab.outcome(), pictures
