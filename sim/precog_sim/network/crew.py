"""Partitions of a run in step, by one thread or several.

Time goes in windows no longer than the shortest way between partitions (conservative parallel
simulation with a barrier: Fujimoto, CACM 33(10), 1990): what another partition sends in a window
arrives in a later one. In each window every partition is advanced once, by whichever thread comes
first; a thread begins with its own share, whose tables its cache may still have. The thread that is
the last to end makes the next window. Nothing that happens depends on how many threads there are.

A run ends at the first whole microsecond after its last flow: whichever partition ends it, all have
come that far.
"""

from enum import IntEnum

from precog_sim.network.arrivals import gather
from precog_sim.network.control import Cfg, Ctl, Err, Halt
from precog_sim.network.jit import compiled, inlined, merged, outlined
from precog_sim.network.kernel import advance
from precog_sim.network.layout import (
    NEVER,
    AnswerCol,
    FaultCol,
    FlowCol,
    LawCol,
    PortCol,
    PrioCol,
    RepeatCol,
    SwitchCol,
)
from precog_sim.network.machine import add, exchange, load, rest, unchecked
from precog_sim.network.memory import LINE
from precog_sim.network.net import Net, Table
from precog_sim.network.pool import give_back
from precog_sim.network.wheel import soonest

__all__ = ["STEP_PS", "Bound", "Crew", "Status", "work"]

STEP_PS = 1_000_000  #: windows do not reach over multiples of it, and runs end at one
_PATIENCE = 1000  # looks at a word before another thread may have the processor


class Bound(IntEnum):
    """Tables that hold the parts of all partitions one after another."""

    FLOWS = 0  # `order`
    PORTS = 1  # `mine`
    SAMPLES = 2
    WIDTH = 3


class Status(IntEnum):
    """What the crew does."""

    RUN = 0
    ROUTES = 1  # it waits for new ones
    END = 2


class Crew(IntEnum):
    """Words that threads share; those that several write have cache lines of their own."""

    ARRIVED = 0  # threads that are through with the window
    WINDOW = 8  # its number
    UNTIL = 16  # its end, ps
    STATUS = 17
    THREADS = 18
    LOOKAHEAD = 19  # ps
    CLAIM = 24  # of partition 0: the last window in which it was advanced; then the others'


@inlined
def _member(run: Net, k: int, parity: int) -> Net:
    """The record of partition `k`."""
    b, e = run.bounds[k], run.bounds[k + 1]
    return Net(
        rec=unchecked(run.rec, LINE),
        wheel=unchecked(run.wheel[k], 0),
        bits=unchecked(run.bits[k], 0),
        heap=unchecked(run.heap[k], 3),
        stock=run.stock,
        arrivals=unchecked(run.arrivals[k], 2),
        unsorted=unchecked(run.unsorted[k], 2),
        tally=unchecked(run.tally[k], 0),
        outbox=unchecked(run.outbox[parity], 2),
        posted=unchecked(run.posted[parity, k], 0),
        places=unchecked(run.places[k], 0),
        bounds=run.bounds,
        port=unchecked(run.port, PortCol.WIDTH),
        parts=unchecked(run.parts, 0),
        mine=run.mine[b[Bound.PORTS] : e[Bound.PORTS]],
        port_f=unchecked(run.port_f, 0),
        dice=unchecked(run.dice, 0),
        load=unchecked(run.load, 3),
        prio=unchecked(run.prio, PrioCol.WIDTH),
        quanta=unchecked(run.quanta, 0),
        ready=unchecked(run.ready[k], 0),
        switch=unchecked(run.switch, SwitchCol.WIDTH),
        routes=run.routes,
        last=unchecked(run.last, 0),
        route_ports=unchecked(run.route_ports, 0),
        ways=unchecked(run.ways, 0),
        turns=run.turns,
        fault=unchecked(run.fault, FaultCol.WIDTH),
        wire_loss=unchecked(run.wire_loss, 0),
        outages=run.outages,
        telemetry=unchecked(run.telemetry, run.telemetry.shape[1]),
        flow=unchecked(run.flow, FlowCol.WIDTH),
        real=unchecked(run.real, FlowCol.WIDTH),
        law=unchecked(run.law, LawCol.WIDTH),
        law_f=unchecked(run.law_f, 1),
        marking=run.marking,
        mark_most=run.mark_most,
        state=unchecked(run.state, run.state.shape[1]),
        words=unchecked(run.words, run.state.shape[1]),
        learnt=run.learnt,
        order=run.order[b[Bound.FLOWS] : e[Bound.FLOWS]],
        followers=run.followers,
        messages=run.messages,
        repeat=unchecked(run.repeat, RepeatCol.WIDTH),
        arrived=run.arrived,
        selected=run.selected,
        sack=unchecked(run.sack, 2),
        answer=unchecked(run.answer, AnswerCol.WIDTH),
        told=run.told,
        inbound=run.inbound,
        known=run.known,
        ctl=unchecked(run.ctl[k], 0),
        cfg=unchecked(run.cfg, 0),
        fcfg=unchecked(run.fcfg, 0),
        packet_rtt=run.packet_rtt,
        samples=run.samples[b[Bound.SAMPLES] : e[Bound.SAMPLES]],
        sample_f=run.sample_f[b[Bound.SAMPLES] : e[Bound.SAMPLES]],
        watched=run.watched,
        probe_time=run.probe_time,
        probe_rate=run.probe_rate,
        probe_got=run.probe_got,
        probe_queue=run.probe_queue,
        log=run.log,
        changes=run.changes,
        forecast_log=run.forecast_log,
        receiver_log=run.receiver_log,
        depths=run.depths[k],
        asked=run.asked,
        decision=run.decision,
        knots=run.knots,
        forecasts=run.forecasts,
        received=run.received,
    )


@inlined
def _idle(run: Net, k: int, parity: int, until: int) -> bool:
    """Whether nothing happens in partition `k` before `until`, and nothing has come for it."""
    if run.ctl[k, Ctl.BEGUN] == 0 or run.ctl[k, Ctl.HALT] != Halt.NONE:
        return False
    if run.ctl[k, Ctl.SOONEST] < until:
        return False
    came = 0
    for sender in range(run.ctl.shape[0]):
        came += run.posted[parity, sender, k]
    return came == 0


@merged
def _turn(run: Net, k: int, parity: int, until: int, longest: int) -> None:
    """Advance partition `k` to the end of the window, which is at most `longest` ps long."""
    if _idle(run, k, 1 - parity, until):
        return
    net = _member(run, k, parity)
    net.ctl[Ctl.UNTIL] = until if net.cfg[Cfg.NS3] == 0 else NEVER
    gather(net, run, k, 1 - parity, until - longest)
    net.ctl[Ctl.SOONEST] = NEVER
    advance(net, until)
    give_back(net)
    left = net.arrivals[net.ctl[Ctl.ARRIVAL], 0]
    net.ctl[Ctl.SOONEST] = min(net.ctl[Ctl.SOONEST], left, soonest(net))


@outlined
def _next_window(run: Net, crew: Table) -> None:
    """All partitions have come to the window's end: make the next one."""
    done = 0
    done_at = 0
    due = NEVER
    for k in range(run.ctl.shape[0]):
        halt = run.ctl[k, Ctl.HALT]
        if run.ctl[k, Ctl.ERROR] != Err.NONE or halt == Halt.DONE:
            crew[Crew.STATUS] = Status.END
        elif halt == Halt.ROUTES and crew[Crew.STATUS] == Status.RUN:
            crew[Crew.STATUS] = Status.ROUTES
        done += run.ctl[k, Ctl.DONE]
        done_at = max(done_at, run.ctl[k, Ctl.DONE_AT])
        due = min(due, run.ctl[k, Ctl.SOONEST])
    if crew[Crew.STATUS] != Status.RUN:
        return
    begin = max(crew[Crew.UNTIL], due)
    end = run.cfg[Cfg.HORIZON] + 1
    if done == run.cfg[Cfg.FLOWS]:
        end = min(end, (done_at // STEP_PS + 1) * STEP_PS)
    if due == NEVER or begin >= end:
        crew[Crew.STATUS] = Status.END
        return
    crew[Crew.UNTIL] = min(begin + crew[Crew.LOOKAHEAD], (begin // STEP_PS + 1) * STEP_PS, end)


@compiled
def work(run: Net, crew: Table, thread: int) -> None:
    """What one thread does until the run ends or routes change. Errors are left in ``ctl``."""
    count = run.ctl.shape[0]
    threads = crew[Crew.THREADS]
    first = thread * count // threads
    longest = min(crew[Crew.LOOKAHEAD], STEP_PS)
    while crew[Crew.STATUS] == Status.RUN:
        window = crew[Crew.WINDOW]
        for n in range(count):
            k = (first + n) % count
            if exchange(crew, Crew.CLAIM + LINE * k, window) != window:
                _turn(run, k, window & 1, crew[Crew.UNTIL], longest)
        if add(crew, Crew.ARRIVED, 1) + 1 == threads:
            crew[Crew.ARRIVED] = 0
            _next_window(run, crew)
            exchange(crew, Crew.WINDOW, window + 1)
            continue
        looks = 0
        while load(crew, Crew.WINDOW) == window:
            looks += 1
            if looks > _PATIENCE:
                rest()
