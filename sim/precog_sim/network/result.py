"""What a run leaves behind."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from precog_sim.network.alone import alone_us
from precog_sim.network.buffer_rules import BufferRule
from precog_sim.network.scenario import Scenario

__all__ = ["Record", "Result", "SimulationError"]


class SimulationError(RuntimeError):
    """The run was given up: the message says why and what to change."""


@dataclass(frozen=True)
class Record:
    """What a run keeps.

    Parameters
    ----------
    packets : bool
        The RTT of every packet.
    log : bool
        Every sample, event and decision of a `Loop`, as integers.
    queues : bool
        Every change of every send queue.
    scores : bool
        Every forecast of a send queue, and every event of the receivers.
    depth_us : float
        Spacing of the samples of all switch ports' queues. 0: none.
    probe_us : float
        First spacing of the rate and queue traces; it doubles as often as the run needs to stay
        within `probes` rows. 0: no traces.
    probes : int
        Most rows of the traces.

    Raises
    ------
    ValueError
        A negative spacing, or fewer than two rows.
    """

    packets: bool = True
    log: bool = False
    queues: bool = False
    scores: bool = False
    depth_us: float = 0.0
    probe_us: float = 5.0
    probes: int = 4096

    def __post_init__(self) -> None:
        for name in ("probe_us", "depth_us"):
            if not getattr(self, name) >= 0:
                raise ValueError(f"{name} must be >= 0, not {getattr(self, name)!r}")
        if self.probes < 2:
            raise ValueError(f"probes must be at least 2, not {self.probes!r}")


@dataclass(frozen=True, eq=False)
class Result:
    """One run.

    Attributes
    ----------
    scenario : Scenario
    law : str
        Label of the congestion control.
    timing, seed
        As given to `run`.
    size : ndarray (flows,)
        Bytes.
    start_us, fct_us : ndarray (flows,)
        Start, and flow completion time (start to last acknowledgement); NaN: not finished.
    sample_flow, sample_t_us, sample_rtt_us : ndarray (samples,)
        One non-overlapping sample per round trip and flow, in order of arrival.
    sample_rtt_ps : ndarray (samples,)
        The same RTTs as integers.
    sample_rate_gbps : ndarray (samples,)
        The flow's rate after the law acted on the sample.
    sample_predicted_us : ndarray (samples,)
        The RTT that the predictor expected *next*; 0 where there was no prediction.
    packet_rtt_us : ndarray (packets,)
        RTT of every acknowledged packet (empty if not recorded).
    probe_t_us, probe_queue : ndarray (rows,), (rows, ports)
        Traces: times, and bytes in the watched egress queues.
    probe_rate_gbps, probe_got : ndarray (rows, flows)
        Traces: rates of running flows (0 otherwise), and bytes that have arrived in order.
    watched : ndarray (ports,)
        Ports of `probe_queue`: the switches' last hops towards the receivers.
    gains : ndarray (flows, 3)
        Kp, Ki, Kd at the end (PID laws; NaN otherwise).
    target_us : ndarray (flows,)
        RTT target at the end (PID laws; NaN otherwise).
    log : ndarray (decisions, 11)
        Loop only: sample and decision fields of every decision, integers. Where the flags have
        EVENT, the sample's are the event's qp, value (0 without one) and t.
    queue_log : ndarray (changes, 4)
        Every change of a send queue in order, if recorded: time in ps, flow, bytes handed over
        (negative: payload sent), bytes in the queue afterwards. What go-back-N is to send again
        counts as in the queue again.
    forecast_log : ndarray (forecasts, 20)
        `contract.FORECAST_FIELDS` of every forecast of a send queue, if recorded.
    receiver_log : ndarray (events, 12)
        `RECEIVER_EVENT` and `RECEIVER_RESULT` of every event of the receivers, if recorded.
    message_flow, message_bytes, message_t_us, message_us : ndarray (messages,)
        Messages in order of time: flow, size, when each was handed over, and how long it took until
        its last byte was acknowledged; NaN: it was not.
    depths : ndarray of int64
        How many samples of switch ports' queues had each length in KiB; the last entry has all that
        were longer. Empty without `Record.depth_us`.
    port_bytes : ndarray (ports,)
        Bytes that each port of a switch has sent; 0 at hosts.
    paused_us : ndarray (ports, priorities)
        For how long each priority of each port was paused.
    max_queue : int
        Largest egress queue of a priority of any switch port in bytes, the packet on the wire not
        counted.
    events, marks, drops, lost, pauses, resumes, nacks, timeouts, cnps, duplicates : int
        Counts; `marks` of data packets, `drops` for want of buffer, `lost` at random, `duplicates`
        of data packets that had come before.
    cut, unreachable : int
        Packets lost on links that were down, and those for which a switch knew no way.
    data_sent, data_got, data_dropped, data_in_flight : int
        Data packets sent, arrived at their hosts, dropped or lost, and still under way.
    retransmitted : int
        Data packets sent beyond the least number; short packets at the ends of messages count too.
    end_us : float
        When the run ended.
    cpu_s : float
        CPU seconds of the simulation loop alone.
    buffer_rules : tuple of BufferRule
        How the scenario stands with the rules of source 004.
    standalone_us : ndarray (flows,)
        Completion time of each flow alone in the network, with all of its bytes at once.
    header, ack_bytes : ndarray of int64 (flows,)
        Header bytes of each flow's data packets; bytes of its acknowledgements.
    heard, heard_us : ndarray (flows,)
        Greatest level of `Hints` that each flow was told with its first 64 KB, and when; 0: none.
    laws, law_of : tuple of str, ndarray of int64 (flows,)
        Labels of the laws; each flow's, by its place.
    partitions : int
        Parts of the network that threads could share.
    whole_because : str
        Why there was one only; empty: there were more.
    """

    scenario: Scenario
    law: str
    timing: str
    seed: int
    size: NDArray[np.int64]
    start_us: NDArray[np.float64]
    fct_us: NDArray[np.float64]
    sample_flow: NDArray[np.int64]
    sample_t_us: NDArray[np.float64]
    sample_rtt_ps: NDArray[np.int64]
    sample_rate_gbps: NDArray[np.float64]
    sample_predicted_us: NDArray[np.float64]
    packet_rtt_us: NDArray[np.float64]
    probe_t_us: NDArray[np.float64]
    probe_rate_gbps: NDArray[np.float32]
    probe_got: NDArray[np.int64]
    probe_queue: NDArray[np.int64]
    watched: NDArray[np.int64]
    gains: NDArray[np.float64]
    target_us: NDArray[np.float64]
    log: NDArray[np.int64]
    queue_log: NDArray[np.int64]
    forecast_log: NDArray[np.int64]
    receiver_log: NDArray[np.int64]
    message_flow: NDArray[np.int64]
    message_bytes: NDArray[np.int64]
    message_t_us: NDArray[np.float64]
    message_us: NDArray[np.float64]
    max_queue: int
    events: int
    marks: int
    drops: int
    lost: int
    depths: NDArray[np.int64]
    port_bytes: NDArray[np.int64]
    paused_us: NDArray[np.float64]
    pauses: int
    resumes: int
    nacks: int
    timeouts: int
    cnps: int
    duplicates: int
    cut: int
    unreachable: int
    data_sent: int
    data_got: int
    data_dropped: int
    data_in_flight: int
    retransmitted: int
    end_us: float
    cpu_s: float
    buffer_rules: tuple[BufferRule, ...]
    standalone_us: NDArray[np.float64]
    header: NDArray[np.int64]
    ack_bytes: NDArray[np.int64]
    heard: NDArray[np.int64]
    heard_us: NDArray[np.float64]
    laws: tuple[str, ...]
    law_of: NDArray[np.int64]
    partitions: int
    whole_because: str

    @cached_property
    def sample_rtt_us(self) -> NDArray[np.float64]:
        """The samples' RTTs in microseconds."""
        return np.asarray(self.sample_rtt_ps * 1e-6, dtype=np.float64)

    @cached_property
    def message_alone_us(self) -> NDArray[np.float64]:
        """How long each message takes alone in the network, in microseconds."""
        return alone_us(
            self.scenario, self.message_flow, self.message_bytes, self.header, self.ack_bytes
        )

    @property
    def finished(self) -> bool:
        """Whether every flow is complete."""
        return not bool(np.isnan(self.fct_us).any())

    def queue_below(self, share: float) -> int:
        """The length below which `share` of the samples of queues are, in whole KiB."""
        up_to = np.cumsum(self.depths)
        if not up_to[-1]:
            return 0
        return int(np.searchsorted(up_to, share * up_to[-1], side="right"))

    def samples_of(self, flow: int) -> NDArray[np.float64]:
        """RTT samples of one flow in order, in microseconds."""
        return np.asarray(self.sample_rtt_us[self.sample_flow == flow], dtype=np.float64)

    def sequences(self) -> list[NDArray[np.float64]]:
        """RTT samples of every flow in order, in microseconds: what a predictor learns from."""
        return [self.samples_of(flow) for flow in range(self.size.size)]
