"""The plug-in whose decisions are made outside: what a device in the loop is asked and told."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from precog_sim.network.congestion import CongestionControl, Fixed, LawSetup, LinkFacts
from precog_sim.network.layout import Window
from precog_sim.network.score_source import QUEUE_SOURCES, QueueCalls, Scores

__all__ = ["Loop"]


@dataclass(frozen=True)
class Loop(CongestionControl):
    """Every decision by a C function: the Verilated RTL or the golden NIC.

    The function ``int64 f(void *handle, int64 *sample, int64 *decision)`` gets one sample
    (`contract.SAMPLE_FIELDS`: qp = flow number, rtt and t in ticks of 1 ns) and fills one decision
    (`contract.DECISION_FIELDS`); a negative result aborts the run, any other is ignored (the RTL
    gives its latency in cycles). `window` bytes limit the flow from then on, 0 not. Until its first
    decision a flow runs at `start_gbps`, which must be the rate that the decider was configured to
    start from.

    A second function of the same type gets events (`law_fields.LAW_EVENT_FIELDS`); of its decisions
    only qp and rate count. A flow's notifications are told (CNP: a packet has come, or a marked
    acknowledgement where the law has no CNPs), and on request passing time and scores. A third one
    is told bytes.

    Parameters
    ----------
    function : int
        Address of the function.
    handle : int
        Its first argument, and the event function's.
    event_function : int
        Address of the event function; 0: samples only.
    tell_marks : bool
        Tell notifications, if there is an event function.
    ack_function : int
        Address of a function that gets `law_fields.ACK_FIELDS`. It is told every data packet's
        bytes on the wire as it begins to leave, as those of an acknowledgement: a law that is a
        program hears of no others. 0: it is not.
    sweep_us : float
        Tell each flow that time has passed this often (SWEEP), from its first notification to its
        end; 0: never. Clocks outside run only with events, so a rate is late by at most this.
    flow_gbps : tuple of float
        Start rate of each flow, instead of one `start_gbps` for all.
    scores : Scores, optional
        Each flow's sender makes scores, and the event function is told them (SCORE).
    queues : QueueCalls, optional
        The device watches and forecasts send queues; needed by scores of queue models.
    receivers : tuple of int
        With ``scores.receiver``: address and first argument of ``int64 f(void *handle, int64
        *event, int64 *result)``, `receiver_fields.RECEIVER_EVENT` and `RECEIVER_RESULT`.
    like : CongestionControl, optional
        Plug-in of the law that decides: headers, acknowledgements, marking and CNPs are as under
        it. None: as under `Fixed`.
    """

    start_gbps: float | None = 10.0
    retime: bool = True
    function: int = 0
    handle: int = 0
    event_function: int = 0
    ack_function: int = 0
    tell_marks: bool = True
    sweep_us: float = 0.0
    flow_gbps: tuple[float, ...] = ()
    scores: Scores | None = None
    queues: QueueCalls | None = None
    receivers: tuple[int, int] = (0, 0)
    like: CongestionControl | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (self.sweep_us == 0 or 1e-3 <= self.sweep_us < 1e6):
            raise ValueError(f"sweep_us must be 0 or in 0.001..1e6, not {self.sweep_us!r}")
        if self.event_function == 0 and (self.ack_function or self.sweep_us or self.scores):
            raise ValueError(
                "loop event_function must be the address of a C function where bytes, time or "
                "scores are told, not 0"
            )
        if self.scores and self.scores.source in QUEUE_SOURCES and self.queues is None:
            raise ValueError(
                f"loop queues must be given for scores of {self.scores.source}: the device's calls"
            )
        if self.scores and self.scores.receiver and not self.receivers[0]:
            raise ValueError("loop receivers must hold the address of a C function, not 0")

    def start_rates(self, top: NDArray[np.float64]) -> NDArray[np.float64]:
        """Rates of the flows at their start; `top` are their links', all in bit/s."""
        if not self.flow_gbps:
            return super().start_rates(top)
        if len(self.flow_gbps) != top.size or not min(self.flow_gbps) > 0:
            raise ValueError(
                f"loop flow_gbps must be a positive rate for each of {top.size} flows, "
                f"not {self.flow_gbps!r}"
            )
        return np.asarray(np.minimum(top, np.array(self.flow_gbps) * 1e9))

    def setup(self, link: LinkFacts) -> LawSetup:
        """The kernel's view of the plug-in."""
        if self.function == 0:
            raise ValueError("loop function must be the address of a C function, not 0")
        if self.window != "none":
            raise ValueError(
                f"loop window must be none (each decision carries its own), not {self.window!r}"
            )
        return replace(
            (self.like or Fixed()).setup(link),
            program=None,
            window=Window.BDP,
            retime=self.retime,
            function=self.function,
            handle=self.handle,
            event_function=self.event_function,
            ack_function=self.ack_function,
            tell_marks=self.tell_marks and self.event_function != 0,
            sweep_us=self.sweep_us,
            scores=self.scores,
            queues=self.queues,
            receivers=self.receivers if self.scores and self.scores.receiver else (0, 0),
        )
