"""What a fleet does over time: who runs which release, and what destinations are like."""

from typing import Any

from ..clock import now_ms
from ..looking import view
from .lab import Lab

__all__ = ["Diary"]

_EVERY_MS = 1000


class Diary:
    """Looks at a fleet after each of its turns.

    Parameters
    ----------
    lab : Lab

    Attributes
    ----------
    runs : list of dict
        ``at`` (ms), ``agent``, and the ``release`` that went live on its card then.
    hotspots : list of dict
        Every second, of each destination: ``at`` and what `looking.view` tells of it.
    """

    def __init__(self, lab: Lab) -> None:
        self.runs: list[dict[str, Any]] = []
        self.hotspots: list[dict[str, Any]] = []
        self._lab = lab
        self._live: dict[str, int] = {}
        self._looked = 0

    def look(self) -> None:
        """Note what has changed."""
        now = now_ms()
        for name, process in self._lab.agents.items():
            lineup = process.agent.seatings[0].lineup
            if lineup.live is not None and lineup.live.release != self._live.get(name):
                self._live[name] = lineup.live.release
                self.runs.append({"at": now, "agent": name, "release": lineup.live.release})
        if not 0 <= now - self._looked < _EVERY_MS:
            self._looked = now
            told = view(self._lab.router.store, now)["hotspots"]
            self.hotspots += [{"at": now} | one for one in told]
