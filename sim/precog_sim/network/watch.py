"""What is noted of a run at equal spacing: rates, arrivals, queues."""

from precog_sim.network.control import Cfg, Ctl
from precog_sim.network.jit import inlined
from precog_sim.network.layout import FlowCol, PrioCol
from precog_sim.network.net import Net

__all__ = ["count_once", "probe", "sample_depths"]


@inlined
def queued(net: Net, p: int) -> int:
    """Bytes in all of a port's priorities."""
    count = net.cfg[Cfg.PRIORITIES]
    total = 0
    for q in range(p * count, (p + 1) * count):
        total += net.prio[q, PrioCol.BYTES]
    return total


@inlined
def count_once(net: Net) -> None:
    """The event happens in every partition."""
    if net.ctl[Ctl.PART] > 0:
        net.ctl[Ctl.EVENTS] -= 1


@inlined
def probe(net: Net, now: int) -> None:
    """Note rates, arrivals and watched queues; when the table is full, keep every other row."""
    n = net.ctl[Ctl.PROBES]
    if n == net.probe_time.size:
        n //= 2
        for i in range(n):
            net.probe_time[i] = net.probe_time[2 * i]
            for f in range(net.cfg[Cfg.FLOWS]):
                net.probe_rate[i, f] = net.probe_rate[2 * i, f]
                net.probe_got[i, f] = net.probe_got[2 * i, f]
            for k in range(net.cfg[Cfg.WATCHED]):
                net.probe_queue[i, k] = net.probe_queue[2 * i, k]
        net.ctl[Ctl.PROBE_PS] *= 2
    net.probe_time[n] = now
    for f in range(net.cfg[Cfg.FLOWS]):
        running = net.flow[f, FlowCol.END] < 0 and net.flow[f, FlowCol.START] <= now
        net.probe_rate[n, f] = net.real[f, FlowCol.RATE] * 1e-9 if running else 0.0
        net.probe_got[n, f] = net.flow[f, FlowCol.EXPECTED]
    for i in range(net.cfg[Cfg.WATCHED]):
        net.probe_queue[n, i] = queued(net, net.watched[i])
    net.ctl[Ctl.PROBES] = n + 1


@inlined
def sample_depths(net: Net) -> None:
    """Count the queues of the partition's switches by their length."""
    for i in range(net.mine.size):
        p = net.mine[i]
        net.depths[min(queued(net, p) >> 10, net.depths.size - 1)] += 1
