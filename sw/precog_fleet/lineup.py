"""The models of one card: live, in the shadow, and the one before; judged on its own windows.

    release ─► verified ─► loaded to free sets ─► shadow: forecasts the same windows as the live one
                                                      │ better, or no worse for long
                                                      ▼
               refused, remembered ◄── worse      live: one write of the map a slot
                    ▲                                 │ the one before would have done better
                    └── previous is live again ◄──────┘

The card runs only what is live; the shadow's forecasts are the golden model's, which are the
card's bit for bit. All windows of the card decide together.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from precog_models.forecast.forecaster import Forecaster, Settings
from precog_models.image import Image
from precog_models.tree_image import TreeImage
from precog_spec.contract import MAX_OUTPUTS

from .judging import Duel, Tally, bin_crps, persistence_crps
from .observing import Window

__all__ = ["Lineup", "Plan", "Rules"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_SPAN = 12  # samples of a window and of the outcome after it


@dataclass(frozen=True)
class Rules:
    """When a model rises and falls.

    Parameters
    ----------
    least : int
        Stretches of time before anything is decided.
    patience : int
        Stretches after which a shadow that is not worse goes live.
    z : float
        Of the one-sided tests.
    kept : int
        Stretches that are remembered.
    stretch : int
        Periods of a sample that make a stretch.
    drift : float
        Fall of skill below its best at which new models are asked for.
    """

    least: int = 20
    patience: int = 200
    z: float = 2.0
    kept: int = 400
    stretch: int = 2 * _SPAN
    drift: float = 0.1


@dataclass(eq=False)
class Plan:
    """A release on one card.

    Parameters
    ----------
    release : int
        Its number.
    digest : bytes
        SHA-256 of its manifest.
    images : mapping of int to image
        By slot.
    sets : dict of int to int
        Sets by slot, as far as they are loaded.
    parent : bytes
        Digest of the release, where heads of neighbours make another set of it.
    """

    release: int
    digest: bytes
    images: Mapping[int, Image | TreeImage] = field(repr=False)
    sets: dict[int, int] = field(default_factory=dict)
    parent: bytes = b""

    def __post_init__(self) -> None:
        self.parent = self.parent or self.digest
        self._forecasters = {slot: Forecaster(image) for slot, image in self.images.items()}
        self.settings: Settings = next(iter(self._forecasters.values())).settings

    def fits(self, other: "Plan") -> bool:
        """Whether both mean the same bins, horizon and inputs: one can replace the other."""
        a, b = self.settings, other.settings
        return (a.bin_edges, a.horizon, a.normaliser) == (b.bin_edges, b.horizon, b.normaliser)

    def forecast(self, slot: int, signals: Ints) -> Ints:
        """Distributions of windows [n, 8, 4]: [n, 16]."""
        steps = self.images[slot].header.steps
        return self._forecasters[slot].distributions(signals[:, -steps:])

    def outputs(self) -> int:
        """Bins."""
        return len(self.settings.bin_edges) + 1


class _Score:
    """Sums of the last stretches of one plan."""

    def __init__(self, kept: int) -> None:
        self._sums: deque[list[float]] = deque(maxlen=kept)
        self._stretch: int | None = None

    def add(self, stretch: int, score: Floats, reference: Floats) -> None:
        if stretch != self._stretch:
            self._stretch = stretch
            self._sums.append([0.0, 0.0, 0.0])
        for at, value in enumerate((len(score), score.sum(), reference.sum())):
            self._sums[-1][at] += float(value)

    def tally(self, last: int | None = None) -> Tally | None:
        """Of the last stretches, or of all; None without a window."""
        sums = np.array([*self._sums][-(last or len(self._sums)) :] or [[0.0] * 3]).sum(axis=0)
        n = int(sums[0])
        return Tally(n, float(sums[1]) / n, float(sums[2]) / n) if n else None

    def __len__(self) -> int:
        return len(self._sums)


class Lineup:
    """Live, shadow and previous plan of a card, and what their windows say.

    Parameters
    ----------
    rules : Rules

    Attributes
    ----------
    live, shadow, previous : Plan or None
    refused : dict of bytes to str
        Digests of releases that did worse here, and why.
    worse : dict of int to Tally
        How those did, by release; since the start.
    """

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.live: Plan | None = None
        self.shadow: Plan | None = None
        self.previous: Plan | None = None
        self.refused: dict[bytes, str] = {}
        self.worse: dict[int, Tally] = {}
        self._scores: dict[bytes, _Score] = {}
        self._trial = Duel(rules.kept)  # shadow against live
        self._relapse = Duel(rules.kept)  # previous against live
        self._best = 0.0

    def plans(self) -> list[Plan]:
        """All three, as far as there are."""
        return [plan for plan in (self.live, self.shadow, self.previous) if plan is not None]

    def previous_is(self, digest: bytes) -> bool:
        """Whether the plan before the live one is of that release."""
        return self.previous is not None and self.previous.parent == digest

    # --- judging ---------------------------------------------------------------------------------

    def judge(
        self, windows: Sequence[Window], slots: Mapping[int, int], period: int
    ) -> list[tuple[Plan | None, Ints]]:
        """Let all plans forecast windows; the plan that the card ran at each, and its distribution.

        Parameters
        ----------
        slots : mapping of int to int
            The slot that each queue pair names.
        period : int
            Ticks from a sample to the next one.
        """
        made: list[tuple[Plan | None, Ints]] = [
            (None, np.zeros(MAX_OUTPUTS, dtype=np.int64)) for _ in windows
        ]
        groups: dict[tuple[int, int], list[int]] = {}
        for n, window in enumerate(windows):
            slot = slots.get(window.qp)
            if slot is not None:
                stretch = window.t // (period * self.rules.stretch)
                groups.setdefault((stretch, slot), []).append(n)
        for (stretch, slot), members in sorted(groups.items()):
            self._group(stretch, slot, members, windows, made)
        return made

    def _group(
        self,
        stretch: int,
        slot: int,
        members: list[int],
        windows: Sequence[Window],
        made: list[tuple[Plan | None, Ints]],
    ) -> None:
        signals = np.stack([windows[n].signals for n in members])
        scores: dict[bytes, Floats] = {}
        reference = np.zeros(len(members))
        for plan in self.plans():
            if slot not in plan.images:
                continue
            settings = plan.settings
            later = np.array([windows[n].later for n in members])
            came = settings.bins(later[:, 0 if settings.horizon == 1 else 1])
            reference = persistence_crps(settings.bins(signals[:, -1, 0]), came)
            distributions = plan.forecast(slot, signals)
            scores[plan.digest] = score = bin_crps(distributions, plan.outputs(), came)
            self._scores.setdefault(plan.digest, _Score(self.rules.kept)).add(
                stretch, score, reference
            )
            for n, row in zip(members, distributions, strict=True):
                ran = plan.sets.get(slot) == windows[n].set
                if ran and plan.images[slot].header.version == windows[n].version:
                    made[n] = plan, row
        live = reference if self.live is None else scores.get(self.live.digest)
        if live is None:
            return
        for duel, rival in ((self._trial, self.shadow), (self._relapse, self.previous)):
            if rival is not None and rival.digest in scores:
                duel.add(stretch, scores[rival.digest], live)

    def tally(self, plan: Plan) -> Tally | None:
        """How a plan did lately; None without a window."""
        return self._scores[plan.digest].tally() if plan.digest in self._scores else None

    # --- what follows ----------------------------------------------------------------------------

    def offer(self, plan: Plan) -> None:
        """A plan whose sets are loaded stands in the shadow from now on."""
        self.shadow = plan
        self._trial = Duel(self.rules.kept)

    def verdict(self) -> str:
        """``rise``, ``fall`` (of the shadow), ``relapse`` (of the live one) or empty."""
        rules = self.rules
        if self.shadow is not None:
            found = self._trial.verdict(rules.least, rules.z)
            waited = self.live is not None and len(self._trial) >= rules.patience
            if found < 0 or (found == 0 and waited):
                return "rise"
            if found > 0:
                return "fall"
        if self.previous is not None and self.live is not None:
            return "relapse" if self._relapse.verdict(rules.least, rules.z) < 0 else ""
        return ""

    def rise(self) -> None:
        """The shadow is live; what was live is the previous one."""
        self.previous, self.live, self.shadow = self.live, self.shadow, None
        self._begin()

    def fall(self, why: str) -> None:
        """The shadow is refused."""
        if self.shadow is not None:
            self._refuse(self.shadow, why)
            self.shadow = None

    def _refuse(self, plan: Plan, why: str) -> None:
        self.refused[plan.digest] = why
        tally = self.tally(plan)
        if tally is not None and plan.digest == plan.parent:
            self.worse[plan.release] = tally

    def relapse(self, why: str) -> None:
        """The previous one is live again, and what was live is refused if there is a reason."""
        if self.live is not None and why:
            self._refuse(self.live, why)
        self.live, self.previous = self.previous, None
        best = self._best  # traffic may have changed, and not the model: it is still missed
        self._begin()
        self._best = best

    def begin(self, plan: Plan) -> None:
        """A plan is live that was so before: after a restart, or the first one."""
        self.live = plan
        self._begin()

    def _begin(self) -> None:
        self._trial, self._relapse = Duel(self.rules.kept), Duel(self.rules.kept)
        self._best = 0.0
        kept = {plan.digest for plan in self.plans()}
        self._scores = {d: score for d, score in self._scores.items() if d in kept}

    def drifted(self) -> Tally | None:
        """How the live plan did lately, where its skill has fallen; None: it has not."""
        if self.live is None or self.live.digest not in self._scores:
            return None
        score = self._scores[self.live.digest]
        if len(score) < self.rules.least:
            return None
        lately = score.tally(self.rules.least)
        assert lately is not None
        self._best = max(self._best, lately.skill)
        return lately if lately.skill < max(0.0, self._best - self.rules.drift) else None
