"""What the golden `CarriedScores` shares with its gateware: names and widths."""

from enum import IntEnum

from precog_spec.contract import Fmt

__all__ = ["CARRIED_EVENT", "CARRIED_STATE", "CarriedKind", "source_bits"]


class CarriedKind(IntEnum):
    """What happened to a queue pair."""

    QUEUE = 0  # its `queue` model has been asked
    RTT = 1  # its `rtt` model
    VISIT = 2  # it is looked at: age, and whether the models are still there
    FORGET = 3  # it begins anew


#: The last score of each model plus 1, or 0: none; and when it was made, in ticks.
CARRIED_STATE = (
    ("queue", 7),
    ("rtt", 7),
    ("queue_t", Fmt.TIME.width),
    ("rtt_t", Fmt.TIME.width),
)


def source_bits(*, port: bool) -> int:
    """Bits of a `contract.CarriedScore`; without `port` there is no `PORT`."""
    return 2 + port


CARRIED_EVENT = (
    ("kind", 2),
    ("qp", 16),
    ("t", Fmt.TIME.width),  # ticks
    ("score", 7),  # plus 1; 0: none
    ("source", 3),  # `contract.CarriedScore`
    ("queue_live", 1),  # the queue pair is enabled and names a model that is there
    ("rtt_live", 1),
)
