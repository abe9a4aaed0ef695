"""What an agent remembers of a card's models: which were live, which were refused, and their files.

A folder of models holds one folder a set, by its digest, and one state file a card. Damaged state
counts as none; sets that no card of the folder names are deleted.
"""

import json
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from precog_models.durable import write_durably
from precog_models.limits import read_json

from .lineup import Lineup, Plan
from .modelset import ModelSet

__all__ = ["Memory", "Remembered"]

_REFUSED = 1024  # newest that are remembered: neighbours' heads would be ever more
_PLACES = ("live", "previous")


class Remembered(NamedTuple):
    """A plan by its name."""

    release: int
    digest: bytes
    parent: bytes


class Memory:
    """The state file of one card.

    Parameters
    ----------
    folder : Path
        Of models; made if it is not there.
    card : str
        The card's name.

    Attributes
    ----------
    damaged : bool
        The state was there, but could not be read.
    refused : dict of bytes to str
    """

    def __init__(self, folder: Path, card: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        name = re.sub(r"[^a-z0-9]+", "-", card.lower()).strip("-") or "card"
        self._folder = folder
        self._path = folder / f"{name}.json"
        self.damaged = False
        self.refused: dict[bytes, str] = {}
        self._told: dict[str, Remembered | None] = {}
        try:
            told = read_json(self._path)
            refused = {bytes.fromhex(digest): str(why) for digest, why in told["refused"].items()}
            self._told = {place: _remembered(told[place]) for place in _PLACES}
            self.refused = refused
        except FileNotFoundError:
            pass
        except (OSError, ValueError, OverflowError, KeyError, TypeError, AttributeError):
            self.damaged = True

    def plan(self, place: str) -> tuple[Remembered, ModelSet] | None:
        """The plan of a place and its models; None: there was none.

        Raises
        ------
        OSError, ValueError
            Its files are gone or damaged. What is left of them is deleted: `save` writes them anew
            once the release has come again.
        """
        told = self._told.get(place)
        if told is None:
            return None
        folder = self._folder / told.digest.hex()
        try:
            return told, ModelSet.load(folder)
        except (OSError, ValueError):
            shutil.rmtree(folder, ignore_errors=True)
            raise

    def save(self, lineup: Lineup, sets: Mapping[bytes, ModelSet]) -> None:
        """Keep what is live, what was before, and the newest of what was refused.

        Raises
        ------
        OSError
            The disk takes it not; what was kept before counts.
        """
        data: dict[str, Any] = {}
        for place in _PLACES:
            plan: Plan | None = getattr(lineup, place)
            data[place] = None
            if plan is not None:
                data[place] = [plan.release, plan.digest.hex(), plan.parent.hex()]
                folder = self._folder / plan.digest.hex()
                if not (folder / "manifest.json").exists():
                    sets[plan.digest].save(folder)
        for digest in list(lineup.refused)[:-_REFUSED]:
            del lineup.refused[digest]
        data["refused"] = {digest.hex(): why for digest, why in lineup.refused.items()}
        write_durably(self._path, json.dumps(data, sort_keys=True).encode())
        self._clear_away()

    def _clear_away(self) -> None:
        """Delete sets that no state file names."""
        named = b"".join(path.read_bytes() for path in self._folder.glob("*.json"))
        for folder in self._folder.iterdir():
            if folder.is_dir() and len(folder.name) == 64 and folder.name.encode() not in named:
                shutil.rmtree(folder, ignore_errors=True)


def _remembered(told: Any) -> Remembered | None:
    if told is None:
        return None
    release, digest, parent = told
    return Remembered(int(release), bytes.fromhex(digest), bytes.fromhex(parent))
