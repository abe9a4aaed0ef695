"""Models of one card: which queue pair names which slot, and releases from candidate to live.

Where all queue pairs share one slot, heads of single queues are left out (`precog_fleet.slots`).
What is live, was before or was refused survives a restart: model files and a state file a card.
"""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from .card import Card, CardDownError
from .lineup import Lineup, Plan, Rules
from .memory import Memory
from .modelset import MANIFEST, Manifest, ModelSet, Queue
from .observing import Window
from .slots import assigned, one_each
from .telemetry import Observation

__all__ = ["Seating"]


class Seating:
    """The models of a card of a member.

    Parameters
    ----------
    origin : str
        The member.
    card : Card
    folder : Path
        For models and state; made if it is not there.
    rules : Rules
    qps : sequence of int, optional
        Queue pairs that name queue models; those that lead somewhere if not given.

    Attributes
    ----------
    lineup : Lineup
    tried : Counter of str
        Heads that were tried, by the member whose they are.
    counts : Counter of str
        ``risen``, ``fallen``, ``rollbacks``, ``refused`` (candidates), ``borrowed`` (heads that
        were tried), ``reloaded``, ``damaged`` and ``unsaved`` (state), ``unlike``
        (forecasts of the card that its golden model does not make).
    error : str
        Why the last candidate was refused.
    """

    def __init__(
        self,
        origin: str,
        card: Card,
        folder: Path,
        rules: Rules,
        qps: Sequence[int] | None = None,
    ) -> None:
        self.origin = origin
        self.card = card
        self.lineup = Lineup(rules)
        self.tried: Counter[str] = Counter()
        self.counts: Counter[str] = Counter()
        self.error = ""
        self.slots: dict[int, int] = {}
        self._qps = None if qps is None else sorted(set(qps))
        self._opened = 0
        self._sets: dict[bytes, ModelSet] = {}
        self._memory = Memory(folder, card.name)
        self.counts["damaged"] += self._memory.damaged
        self.lineup.refused = dict(self._memory.refused)

    def _save(self) -> None:
        kept = {plan.digest for plan in self.lineup.plans()}
        self._sets = {digest: models for digest, models in self._sets.items() if digest in kept}
        try:
            self._memory.save(self.lineup, self._sets)
        except OSError:
            self.counts["unsaved"] += 1

    def _remembered(self, place: str) -> Plan | None:
        try:
            found = self._memory.plan(place)
            if found is None:
                return None
            told, models = found
            return self._plan(told.release, told.digest, models, told.parent)
        except (OSError, ValueError):
            self.counts["damaged"] += 1
            return None

    # --- the card --------------------------------------------------------------------------------

    def _plan(self, release: int, digest: bytes, models: ModelSet, parent: bytes = b"") -> Plan:
        own = one_each(self.slots)
        images = {
            slot: models.image(Queue(self.origin, self.card.name, qp)) if own else models.base
            for qp, slot in self.slots.items()
        }
        self._sets[digest] = models
        return Plan(release, digest, images, parent=parent)

    def ready(self, now: int, first: tuple[int, bytes, ModelSet]) -> bool:
        """Whether the card is up and runs what it should; `first` is live where nothing was.

        Raises
        ------
        CardDownError
            The card is down.
        """
        if not self.card.up(now):
            return False
        if self._opened == self.card.counts["opened"]:
            return self.lineup.live is not None
        self._place(now)
        if not self.slots:
            return False
        live = self.lineup.live or self._remembered("live") or self._plan(*first)
        previous = self.lineup.previous or self._remembered("previous")
        live.sets.clear()
        mapped = self.card.mapped(now)
        runs = {slot: image.header.version for slot, image in live.images.items()}
        if all(slot in mapped and mapped[slot][1] == runs[slot] for slot in runs):
            live.sets.update({slot: mapped[slot][0] for slot in runs})
            self.card.settle(now, live.settings)
        else:
            self._go_live(now, live, keep=())
            self.counts["reloaded"] += 1
        self.card.seat(now, self.slots)
        if self.lineup.live is None:
            self.lineup.previous = previous
            self.lineup.begin(live)
        for plan in (self.lineup.shadow, self.lineup.previous):
            if plan is not None:
                plan.sets.clear()  # loaded again when it is needed
        self._opened = self.card.counts["opened"]
        self._save()
        return True

    def _place(self, now: int) -> None:
        """Give queue pairs their slots; once, so that images stay with their queues."""
        if self.slots:
            return
        qps = self._qps if self._qps is not None else sorted(self.card.follow(now))
        self.slots = assigned(qps, self.card.do(now, lambda device: device.sizes.sets))

    def _load(self, now: int, plan: Plan, keep: Sequence[int]) -> None:
        if set(plan.sets) == set(plan.images):
            return
        slots = sorted(plan.images)
        numbers = self.card.load(now, [plan.images[slot] for slot in slots], keep)
        plan.sets.update(zip(slots, numbers, strict=True))

    def _load_beside(self, now: int, plan: Plan) -> None:
        """Load a plan; on a card with few sets the previous one gives its sets up."""
        try:
            self._load(now, plan, self._kept())
        except ValueError:
            previous = self.lineup.previous
            if previous is None:
                raise
            previous.sets.clear()  # it is loaded again if it is needed
            self._load(now, plan, self._kept())

    def _go_live(self, now: int, plan: Plan, keep: Sequence[int]) -> None:
        self._load(now, plan, keep)
        self.card.settle(now, plan.settings)
        self.card.switch(now, plan.sets)

    def _kept(self) -> list[int]:
        return [number for plan in self.lineup.plans() for number in plan.sets.values()]

    # --- releases --------------------------------------------------------------------------------

    def wants(self, digest: bytes) -> bool:
        """Whether a release that is assigned is neither live, in the shadow, nor refused."""
        lineup = self.lineup
        if lineup.live is None or digest in lineup.refused:
            return False
        return digest not in {p.parent for p in (lineup.live, lineup.shadow) if p is not None}

    def offer(
        self, now: int, release: int, digest: bytes, models: ModelSet, parent: bytes = b""
    ) -> bool:
        """Take a candidate: the release before at once, another set into the shadow.

        Parameters
        ----------
        parent : bytes
            The release's digest, where the set is one with a neighbour's head.

        Returns
        -------
        bool
            False: it was refused, for the reason in `error`, or the card is down.
        """
        lineup = self.lineup
        assert lineup.live is not None
        try:
            if not parent and lineup.previous_is(digest):
                self._back(now, "")
                return True
            plan = self._plan(release, digest, models, parent)
            if not plan.fits(lineup.live):
                raise ValueError(
                    "model must have the bins, horizon and inputs of the live one, but differs"
                )
            shadow, lineup.shadow = lineup.shadow, None
            if shadow is not None:
                shadow.sets.clear()
            self._load_beside(now, plan)
            lineup.offer(plan)
        except CardDownError:
            return False
        except ValueError as error:
            self.counts["refused"] += 1
            self.error = str(error)
            lineup.refused[digest] = self.error
            self._save()
            return False
        return True

    def _back(self, now: int, why: str) -> None:
        """The previous plan is live again."""
        lineup = self.lineup
        assert lineup.previous is not None
        self._go_live(now, lineup.previous, self._kept())
        lineup.relapse(why)
        self.counts["rollbacks"] += 1
        self._save()

    def head(self, qp: int) -> tuple[int, bytes] | None:
        """CRC-32 of the live base, and a queue's own head; None: the base serves it."""
        live = self.lineup.live
        if live is None or not one_each(self.slots):
            return None
        models = self._sets[live.digest]
        delta = models.heads.get(Queue(self.origin, self.card.name, qp))
        return None if delta is None else (models.base.crc32, delta)

    def borrow(self, now: int, qp: int, delta: bytes, base_crc: int) -> bool:
        """Try a neighbour's head for a queue; False: it does not fit, or was tried before."""
        live = self.lineup.live
        if live is None or not one_each(self.slots) or qp not in self.slots:
            return False
        models = self._sets[live.digest]
        if models.base.crc32 != base_crc:
            return False
        queue = Queue(self.origin, self.card.name, qp)
        tried = ModelSet(models.base, {**models.heads, queue: delta})
        digest = Manifest.parse(tried.files()[MANIFEST]).digest
        if digest in self.lineup.refused or digest in {p.digest for p in self.lineup.plans()}:
            return False
        if not self.offer(now, live.release, digest, tried, live.parent):
            return False
        self.counts["borrowed"] += 1
        return True

    # --- windows ---------------------------------------------------------------------------------

    def judge(self, windows: Sequence[Window]) -> list[Observation]:
        """Rows of telemetry; all plans are judged."""
        observer = self.card.observer
        if observer is None or not windows:
            return []
        made = self.lineup.judge(windows, self.slots, observer.scale.period)
        rows = []
        for window, (plan, predicted) in zip(windows, made, strict=True):
            image = None if plan is None else plan.images[self.slots[window.qp]]
            if plan is not None:
                tail = int(predicted[plan.settings.threshold_bin :].sum())
                self.counts["unlike"] += tail != window.probability
            leads = observer.destinations.get(window.qp, "")
            rows.append(window.observation(self.card.name, leads, image, predicted))
        return rows

    def bases(self) -> set[int]:
        """CRC-32 of the base images that are here: what others' heads may build on."""
        return {self._sets[plan.digest].base.crc32 for plan in self.lineup.plans()}

    def decide(self, now: int) -> str:
        """Carry out what the windows say; what was done, or empty.

        Raises
        ------
        CardDownError
            The card is down; nothing is decided then.
        """
        lineup = self.lineup
        verdict = lineup.verdict()
        if verdict == "rise" and lineup.shadow is not None:
            # A card that was opened anew has lost the shadow's sets.
            self._go_live(now, lineup.shadow, self._kept())
            lineup.rise()
            self.counts["risen"] += 1
        elif verdict == "fall":
            lineup.fall("worse than the live model on this card's windows")
            self.counts["fallen"] += 1
        elif verdict == "relapse":
            self._back(now, "worse than the one before on this card's windows")
            return verdict
        if verdict:
            self._save()
        return verdict
