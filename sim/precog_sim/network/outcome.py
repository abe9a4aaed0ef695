"""From the tables that a run leaves to its result."""

import numpy as np
from numpy.typing import NDArray

from precog_models.rate.reference import pid
from precog_models.rate.reference.common import STATES
from precog_sim.network.alone import alone_us
from precog_sim.network.congestion import LawSetup
from precog_sim.network.control import Ctl, Err
from precog_sim.network.crew import Bound
from precog_sim.network.layout import NEVER, FlowCol, HintCol, MessageCol, PortCol, PrioCol
from precog_sim.network.prepare import Prepared
from precog_sim.network.program import FAILED, word
from precog_sim.network.program_failure import why_failed
from precog_sim.network.result import Result, SimulationError
from precog_sim.network.topology import MOST_GBPS

__all__ = ["outcome"]

_PIDS = ("pid", "predpid")
_Table = NDArray[np.int64]
_Reals = NDArray[np.float64]


def _us(ps: _Table) -> _Reals:
    """Picoseconds as microseconds."""
    return np.asarray(ps * 1e-6, dtype=np.float64)


def _raise_if_failed(made: Prepared) -> None:
    """Turn the error code of the partition that failed first into an exception."""
    tables, packets = made.net.ctl, made.packets
    failed = tables[tables[:, Ctl.ERROR] != Err.NONE]
    if not len(failed):
        return
    ctl = failed[failed[:, Ctl.NOW].argmin()]
    error = Err(int(ctl[Ctl.ERROR]))
    value = int(ctl[Ctl.ERROR_VALUE])
    at = f"at {ctl[Ctl.NOW] * 1e-6:.3f} us"
    if error in (Err.LAW_RATE, Err.LAW_WINDOW, Err.LAW_TIMER):
        raise SimulationError(f"{_wild(made, error, value)}, flow {value} ({at})")
    messages = {
        Err.POOL: f"packet pool must hold more than {packets} packets {at}: pass a larger pool",
        Err.LOOP: f"decision function must not return a negative number, not {value} ({at})",
        Err.LOOP_RATE: f"decision function must give a positive rate, not {value} ({at})",
        Err.LOOP_EVENT: f"event function must not return a negative number, not {value} ({at})",
        Err.LOOP_QP: f"decision function must answer for the sample's qp, not for {value} ({at})",
        Err.NO_ROUTE: f"flow {value} must have a route at every switch on its way ({at})",
        Err.RECORD: f"sample record must be longer {at}: more samples than packets",
        Err.QUEUES: f"log of queues must hold more than {value} changes {at}: lose fewer packets",
        Err.QUEUE_EVENT: f"queue function must not return a negative number, not {value} ({at})",
        Err.VISIT: f"visit function must not return a negative number, not {value} ({at})",
        Err.RECEIVER: f"receiver must not return a negative number, not {value} ({at})",
        Err.SCORES: f"log of scores must hold more than {value} rows {at}: make the run smaller",
        Err.MAIL: f"mail must hold what links send in a window, {value} packets {at}: report this",
        Err.LOG: f"log must hold more than {value} decisions {at}: make the run smaller",
    }
    raise SimulationError(messages[error])


def _wild(made: Prepared, error: Err, flow: int) -> str:
    """Name the law that a run was given up for, and what it did."""
    setup, row = made.laws.setups[made.laws.of[flow]], made.net.state[flow]
    rate, window = (float(row[word(name)]) for name in ("rate", "window"))
    if error == Err.LAW_RATE and rate == FAILED:
        return why_failed(setup, row)
    law = "law" if setup.program is None else f"law {setup.program.name}"
    if error == Err.LAW_RATE:
        return f"{law} must give a rate above 0 and below {MOST_GBPS:g} Gb/s, not {rate:g}"
    if error == Err.LAW_WINDOW:
        return f"{law} must give a window in 0..{MOST_GBPS * 1e9:g} bytes, not {window:g}"
    return f"{law} must set a timer that has come later than e.now"


def _is_float_pid(setup: LawSetup) -> bool:
    """Whether the law has a table of gains and targets; a card's law of that name has none."""
    code = setup.program
    return code is not None and code.name in _PIDS and "table" in (code.state.names or ())


def _samples(made: Prepared) -> tuple[_Table, _Reals]:
    """The samples of all partitions by time; those of one time by their host's port."""
    net = made.net
    counts = net.ctl[:, Ctl.SAMPLES]
    begins = net.bounds[:-1, Bound.SAMPLES]
    if len(counts) == 1:
        return net.samples[: counts[0]].copy(), net.sample_f[: counts[0]]
    rows = np.concatenate(
        [np.arange(begin, begin + n) for begin, n in zip(begins, counts, strict=True)]
    )
    samples = net.samples[rows]
    order = np.lexsort((net.flow[samples[:, 0], FlowCol.PORT], samples[:, 1]))
    return samples[order], net.sample_f[rows[order]]


def outcome(made: Prepared, cpu_s: float) -> Result:
    """The result of a run that took `cpu_s`.

    Raises
    ------
    SimulationError
        The run was given up.
    """
    scenario, net, laws = made.scenario, made.net, made.laws
    _raise_if_failed(made)
    ctl = net.ctl.sum(axis=0)
    ctl[Ctl.NOW] = net.ctl[:, Ctl.NOW].max()
    flow, port, prio, messages = net.flow, net.port, net.prio, net.messages
    samples, sample_f = _samples(made)
    flows = len(scenario.flows)
    probes = int(ctl[Ctl.PROBES])
    ended = flow[:, FlowCol.END]
    told = net.told if len(net.told) == flows else np.zeros((flows, HintCol.WIDTH), dtype=np.int64)
    begun = flow[:, FlowCol.START] < NEVER
    still = np.where(prio[:, PrioCol.PAUSED] > 0, ctl[Ctl.NOW] - prio[:, PrioCol.PAUSED_AT], 0)
    count = scenario.priorities.count
    pids = [_is_float_pid(one) for one in laws.setups]
    table_of = laws.columns(net.state, "table") if any(pids) else np.full((flows, STATES), np.nan)
    table_of[~np.array(pids)[laws.of]] = np.nan
    at_switch = np.repeat(port[:, PortCol.NODE] >= scenario.topology.hosts, count)
    sent, got = int(ctl[Ctl.DATA_SENT]), int(ctl[Ctl.DATA_GOT])
    dropped = int(ctl[Ctl.DATA_DROPPED])
    least = sum(-(-flow.size // scenario.payload) for flow in scenario.flows)
    return Result(
        scenario=scenario,
        law=made.law,
        timing=made.timing,
        seed=made.seed,
        size=flow[:, FlowCol.SIZE].copy(),
        start_us=np.where(begun, flow[:, FlowCol.START] * 1e-6, np.nan),
        fct_us=np.where(ended >= 0, (ended - flow[:, FlowCol.START]) * 1e-6, np.nan),
        sample_flow=samples[:, 0].copy(),
        sample_t_us=_us(samples[:, 1]),
        sample_rtt_ps=samples[:, 2].copy(),
        sample_rate_gbps=sample_f[:, 0] * 1e-9,
        sample_predicted_us=sample_f[:, 1].copy(),
        packet_rtt_us=_us(net.packet_rtt[: int(ctl[Ctl.PACKETS])]),
        probe_t_us=_us(net.probe_time[:probes]),
        probe_rate_gbps=net.probe_rate[:probes].copy(),
        probe_got=net.probe_got[:probes].copy(),
        probe_queue=net.probe_queue[:probes].copy(),
        watched=net.watched,
        gains=table_of[:, pid.State.KP : pid.State.KD + 1],
        target_us=table_of[:, pid.State.TARGET_US],
        log=net.log[: int(ctl[Ctl.LOGGED])].copy(),
        queue_log=net.changes[: int(ctl[Ctl.NOTED])].copy(),
        forecast_log=net.forecast_log[: int(ctl[Ctl.FORECAST])].copy(),
        receiver_log=net.receiver_log[: int(ctl[Ctl.RECEIVED])].copy(),
        message_flow=messages[:, MessageCol.FLOW].copy(),
        message_bytes=messages[:, MessageCol.SIZE].copy(),
        message_t_us=_us(messages[:, MessageCol.TIME]),
        message_us=np.where(
            messages[:, MessageCol.DONE] >= 0,
            (messages[:, MessageCol.DONE] - messages[:, MessageCol.TIME]) * 1e-6,
            np.nan,
        ),
        max_queue=int(prio[at_switch, PrioCol.LARGEST].max()),
        events=int(ctl[Ctl.EVENTS]),
        marks=int(ctl[Ctl.MARKS]),
        drops=int(ctl[Ctl.DROPS]),
        lost=int(ctl[Ctl.LOST]),
        depths=net.depths.sum(axis=0),
        port_bytes=port[:, PortCol.SENT].copy(),
        paused_us=_us(prio[:, PrioCol.PAUSED_PS] + still).reshape(-1, count),
        pauses=int(ctl[Ctl.PAUSES]),
        resumes=int(ctl[Ctl.RESUMES]),
        nacks=int(ctl[Ctl.NACKS]),
        timeouts=int(ctl[Ctl.TIMEOUTS]),
        cnps=int(ctl[Ctl.CNPS]),
        duplicates=int(ctl[Ctl.DUPLICATES]),
        cut=int(ctl[Ctl.CUT]),
        unreachable=int(ctl[Ctl.UNREACHABLE]),
        data_sent=sent,
        data_got=got,
        data_dropped=dropped,
        data_in_flight=sent - got - dropped,
        retransmitted=int(flow[:, FlowCol.SENT_PACKETS].sum()) - least,
        end_us=int(ctl[Ctl.NOW]) * 1e-6,
        cpu_s=cpu_s,
        buffer_rules=made.rules,
        standalone_us=alone_us(
            scenario, np.arange(flows), flow[:, FlowCol.SIZE], laws.header, laws.ack_bytes
        ),
        header=laws.header,
        ack_bytes=laws.ack_bytes,
        heard=told[:, HintCol.FIRST_LEVEL].copy(),
        heard_us=_us(told[:, HintCol.FIRST_LEVEL_AT]),
        laws=made.labels,
        law_of=laws.of,
        partitions=made.split.count,
        whole_because=made.whole_because,
    )
