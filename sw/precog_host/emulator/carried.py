"""Predicted scores in packets of an emulated device: the golden `CarriedScores`, and its card."""

from precog_models.nic import GoldenNic
from precog_models.packet.card import Card
from precog_models.predict.carried import CarriedScores
from precog_spec.carried import CarriedKind
from precog_spec.contract import NO_SCORE, CarriedScore, HeadKind

from .ageing import Ageing
from .counters import EmulatedCounters
from .register_file import RegisterFile

__all__ = ["EmulatedCarried"]


class EmulatedCarried:
    """Between forecasts and the rows of the card.

    Hardware visits queue pairs all the time, this one those that have a score after each change of
    models and configurations, and before a packet if one of the scores may be too old.

    Parameters
    ----------
    file : RegisterFile
    nic : GoldenNic
    card : Card
    counters : EmulatedCounters
        FORECAST's.
    """

    def __init__(
        self, file: RegisterFile, nic: GoldenNic, card: Card, counters: EmulatedCounters
    ) -> None:
        self._nic, self._card, self._counters = nic, card, counters
        self._file = file
        self._scores = CarriedScores(nic.qps)
        self._sources = [CarriedScore.HOST] * nic.qps
        self._now = 0
        self._ageing = Ageing()
        file.written["FORECAST.CARRY_AGE"] = self._set_age
        self._set_age()

    def made(self, kind: HeadKind, qp: int, score: int, t: int) -> None:
        """A model has been asked: its score plus 1, 0 without one, at `t` ticks."""
        if self._ageing.over(t):  # a score that came earlier than the last look, or much later
            self._ageing.changed()
        self._happen(CarriedKind[kind.name], qp, t, score)
        if qp == self._scores.port and kind == HeadKind.QUEUE:
            self._show_port()

    def set_port(self, qp: int | None) -> None:
        """The queue pair whose queue is the port's."""
        if qp != self._scores.port:
            self._scores.port = qp
            self._show_port()

    def source(self, qp: int, source: int) -> None:
        """A row of the packet path was written."""
        self._sources[qp] = CarriedScore(source)
        self._card.cps.slots[qp].predicted = source != CarriedScore.HOST
        self.forget(qp)
        if source == CarriedScore.PORT:
            self._happen(CarriedKind.VISIT, qp, self._now)

    def forget(self, qp: int) -> None:
        """The queue pair begins anew."""
        self._happen(CarriedKind.FORGET, qp, self._now)

    def visit(self, t: int | None = None) -> None:
        """Look at queue pairs if a score is too old at `t` ticks; without a time, at all."""
        now = self._now if t is None else t
        if t is None or self._ageing.over(t):
            first = [] if self._scores.port is None else [self._scores.port]
            for qp in first + self._scores.holding():
                self._happen(CarriedKind.VISIT, qp, now)
            self._ageing.looked(now, self._scores.times(), self._scores.age)
        self._now = now

    def _show_port(self) -> None:
        """Queue pairs whose packets carry the port's score have it."""
        for qp, source in enumerate(self._sources):
            if source == CarriedScore.PORT:
                self._happen(CarriedKind.VISIT, qp, self._now)

    def _happen(self, kind: CarriedKind, qp: int, t: int, score: int = 0) -> None:
        self._now = t
        done = self._scores.happen(
            kind,
            qp,
            t,
            score=score,
            source=self._sources[qp],
            queue_live=self._nic.has_model(qp, HeadKind.QUEUE),
            rtt_live=self._nic.has_model(qp, HeadKind.RTT),
        )
        if done.put:
            score_now = None if done.score == NO_SCORE else done.score
            self._card.cps.slots[qp].forecast = score_now
            self._counters.add("carried", int(score_now is not None))
        self._counters.add("expired", int(done.expired))

    def _set_age(self, _: int = 0) -> None:
        self._scores.age = self._file.get("FORECAST.CARRY_AGE")["carry_age"]
        self._ageing.changed()
