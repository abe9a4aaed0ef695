"""The golden NIC core: what the RTL core decides, sample by sample, in exact integers.

    sample ─► feature, base RTT ─► LSTM over the last T features ─► rate unit ─┬─► PSCHED ─► out
                                                                  └► program ──┘     ▲
    event (congestion notification, loss, time, score), acknowledgement ──┘──────────┘
    profile ─► LSTM over the last T profiles, or a tree ─► `predict.forecast` ─► score ─► event
                                                                                (`take_score`)

Queue pairs whose law is a program take rate and window from the law engine, after samples, events
and acknowledgements; the rate unit has the others. PSCHED moves the output of those that ask for
it.

One block of int64 holds everything, so compiled code can run the NIC through a bare pointer:
`GoldenNic.decide_address` is a C function ``int64 decide(void* block, int64* sample, int64*
decision)`` of the same type as the Verilated RTL's, `GoldenNic.event_address` one for events, and
`GoldenNic.handle` is their first argument.

The model is untimed. Outcomes that depend on the gateware's timing are flags of its decisions,
`Flag.LATE` and `Flag.HELD`: a replay writes those of the next decision to ``block[LOGGED]`` before
it makes the decision. Without a replay ``block[LOGGED]`` is 0.

What a queue pair remembers
---------------------------
The feature of every decided sample enters the history, even without a live model. A model is live
if the queue pair names an enabled slot whose set is valid. A new model therefore starts from the
inputs so far. A reset of the queue pair zeroes everything but its configuration.
"""

from .events import acknowledge, happen
from .forecasts import forecast, take_score
from .golden import GoldenNic
from .layout import DROPPED, LOGGED, PARAMETERS, queues_of
from .samples import Decision, decide

__all__ = [
    "DROPPED",
    "LOGGED",
    "PARAMETERS",
    "Decision",
    "GoldenNic",
    "acknowledge",
    "decide",
    "forecast",
    "happen",
    "queues_of",
    "take_score",
]
