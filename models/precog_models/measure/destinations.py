"""Statistics by destination: latency, loss and queue, in addition to those by flow.

A destination is an index that the host gives to the queue pairs that lead there.

    latency  RTT samples: how many, their sum, greatest, least and last
    loss     retransmissions, NAKs and time-outs
    queue    packets from there that a switch marked (CE), and the last score received
"""

from dataclasses import dataclass, fields

from precog_spec.contract import DESTINATION_FIELDS, Fmt

__all__ = ["DestinationEvent", "DestinationRow", "Destinations"]

_WRAPS = {name: (1 << bits) - 1 for name, bits in DESTINATION_FIELDS}


@dataclass(frozen=True)
class DestinationEvent:
    """What happened at once; a field that is None or false did not."""

    rtt: int | None = None  # ticks
    loss: bool = False
    mark: bool = False
    score: int | None = None


@dataclass
class DestinationRow:
    """A destination's numbers, in the order of `DESTINATION_FIELDS`. Counts and the sum wrap."""

    samples: int = 0
    rtt_sum: int = 0  # ticks, like the others
    rtt_max: int = 0
    rtt_min: int = Fmt.RTT.max  # before the first sample
    rtt_last: int = 0
    losses: int = 0
    marks: int = 0
    score: int = 0
    score_valid: int = 0

    def add(self, event: DestinationEvent) -> None:
        """Count an event."""
        if event.rtt is not None:
            self.samples = (self.samples + 1) & _WRAPS["samples"]
            self.rtt_sum = (self.rtt_sum + event.rtt) & _WRAPS["rtt_sum"]
            self.rtt_max = max(self.rtt_max, event.rtt)
            self.rtt_min = min(self.rtt_min, event.rtt)
            self.rtt_last = event.rtt
        self.losses = (self.losses + event.loss) & _WRAPS["losses"]
        self.marks = (self.marks + event.mark) & _WRAPS["marks"]
        if event.score is not None:
            self.score, self.score_valid = event.score, 1

    def values(self) -> dict[str, int]:
        """All numbers by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


class Destinations:
    """The rows of all destinations.

    Parameters
    ----------
    count : int
        Destinations.
    """

    def __init__(self, count: int = 256) -> None:
        self._rows = [DestinationRow() for _ in range(count)]

    def add(self, destination: int, event: DestinationEvent) -> None:
        """Count an event of a destination."""
        self._rows[destination].add(event)

    def read(self, destination: int, *, clear: bool = False) -> dict[str, int]:
        """Numbers of a destination, of one instant; `clear` then sets them to zero."""
        row = self._rows[destination]
        if clear:
            self._rows[destination] = DestinationRow()
        return row.values()
