"""Which predicted score a queue pair's packets carry: the newest one that still holds.

    score of the queue model ─► last one, when ─┐
    score of the rtt model ───► last one, when ─┴─► too old? model gone? ─► by `CarriedScore` ─► row

Packets can carry the score of the card's own port instead: the newest one of the queue model that
forecasts it (`precog_models.packet.port`), which holds as long. A visit brings it to a queue pair.

A score holds until the next one of its model, for `age` ticks at most, and no longer than its model
is there. Ages stay right because hardware visits all queue pairs in turn, within less than half of
the 40-bit time.
"""

from dataclasses import dataclass

from precog_spec.carried import CarriedKind
from precog_spec.contract import NO_SCORE, CarriedScore, Fmt

__all__ = ["CarriedResult", "CarriedScores"]

_QUEUE, _RTT = CarriedKind.QUEUE, CarriedKind.RTT
_WANTED = ((_QUEUE, CarriedScore.QUEUE), (_RTT, CarriedScore.RTT))
_HALF = 1 << (Fmt.TIME.width - 1)


@dataclass
class _Row:
    """`CARRIED_STATE` by model."""

    score: list[int]
    t: list[int]


@dataclass(frozen=True)
class CarriedResult:
    """What an event did."""

    put: bool  #: `score` goes into the queue pair's row in the packet path
    score: int  #: 0..100 or NO_SCORE
    expired: bool  #: a score did not hold any longer


class CarriedScores:
    """Last scores of all queue pairs.

    Parameters
    ----------
    qps : int

    Attributes
    ----------
    age : int
        Ticks that a score holds; 0: for ever.
    port : int or None
        The queue pair whose queue is the port's; another one begins without a score.
    """

    def __init__(self, qps: int) -> None:
        self.age = 0
        self._port: int | None = None
        self._ports = _Row([0], [0])
        self._rows = [_Row([0, 0], [0, 0]) for _ in range(qps)]
        self._holding: set[int] = set()

    @property
    def port(self) -> int | None:
        """The queue pair whose queue is the port's."""
        return self._port

    @port.setter
    def port(self, qp: int | None) -> None:
        if qp != self._port:
            self._ports = _Row([0], [0])
        self._port = qp

    def holding(self) -> list[int]:
        """Queue pairs that have a score: to others a visit does nothing."""
        return sorted(self._holding)

    def times(self) -> list[int]:
        """When the scores came that there are, ticks."""
        rows = (self._ports, *(self._rows[qp] for qp in self._holding))
        return [t for row in rows for t, score in zip(row.t, row.score, strict=True) if score]

    def happen(
        self,
        kind: CarriedKind,
        qp: int,
        t: int,
        *,
        score: int = 0,
        source: int,
        queue_live: bool,
        rtt_live: bool,
    ) -> CarriedResult:
        """An event of one queue pair, `carried_fields.CARRIED_EVENT`.

        A score that `source` does not want changes nothing; a host that changes the source of a
        queue pair lets it forget.
        """
        if qp == self._port:
            self._of_port(kind, t, score, live=queue_live)
        row, of_port = self._rows[qp], source == CarriedScore.PORT
        shows = of_port and kind == CarriedKind.VISIT
        given = source == CarriedScore.MAX or (kind, source) in _WANTED
        given &= kind in (_QUEUE, _RTT)
        if given:
            row.score[kind], row.t[kind] = score, t
        elif kind == CarriedKind.FORGET:
            row.score[:] = 0, 0
        expired = changed = False
        if shows:
            (now,) = self._ports.score
            changed, expired = now != row.score[_QUEUE], now == 0 < row.score[_QUEUE]
            row.score[_QUEUE], row.t[_QUEUE] = now, t
        for model, live in ((_QUEUE, queue_live or of_port), (_RTT, rtt_live)):
            old = not of_port and self._is_old(row.t[model], t)
            if row.score[model] and (old or not live):
                row.score[model] = 0
                expired = True
        best = max(row.score)
        (self._holding.add if best else self._holding.discard)(qp)
        put = given or changed or expired or kind == CarriedKind.FORGET
        return CarriedResult(put, best - 1 if best else NO_SCORE, expired)

    def _of_port(self, kind: CarriedKind, t: int, score: int, *, live: bool) -> None:
        """An event of the port's queue pair."""
        row, given = self._ports, kind == CarriedKind.QUEUE
        if given:
            row.score[0], row.t[0] = score, t
        if kind == CarriedKind.FORGET or not live or (not given and self._is_old(row.t[0], t)):
            row.score[0] = 0

    def _is_old(self, came: int, t: int) -> bool:
        return bool(self.age) and (t - came - self.age - 1) & Fmt.TIME.max < _HALF
