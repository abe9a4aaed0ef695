"""What senders learn: acknowledgements, and that none has come for long."""

from precog_sim.network.control import Cfg, Ctl, Err
from precog_sim.network.host import deliver, wake_earlier
from precog_sim.network.jit import inlined
from precog_sim.network.jitter import completes, held_back
from precog_sim.network.laws import decide, lose
from precog_sim.network.layout import FlowCol, Kind, Rec, ScoreSource
from precog_sim.network.net import Net
from precog_sim.network.outside import observe
from precog_sim.network.pool import free
from precog_sim.network.ring import remove_flow
from precog_sim.network.scores import hear, make_score, restore_score
from precog_sim.network.selective import all_lost, learn
from precog_sim.network.stamps import heard
from precog_sim.network.told import hear_level, keep_cap
from precog_sim.network.wheel import schedule
from precog_spec.contract import QueueEvent

__all__ = ["acknowledged", "timed_out"]

_ARRIVAL = int(QueueEvent.ARRIVAL)


@inlined
def acknowledged(net: Net, kind: int, row: int, now: int, hears: bool) -> int:
    """An acknowledgement in `row` has come to its sender. Returns the port to serve, -1: none.

    `hears`: RTTs are heard with noise, or their base is learnt.
    """
    if held_back(net, kind, row, now):
        return -1
    kick = -1
    f = net.rec[row, Rec.OWNER]
    seq = net.rec[row, Rec.SEQ]
    rtt = now - net.rec[row, Rec.SENT]
    if net.cfg[Cfg.KEEP_PACKETS] != 0 and net.ctl[Ctl.PACKETS] < net.packet_rtt.size:
        net.packet_rtt[net.ctl[Ctl.PACKETS]] = rtt
    net.ctl[Ctl.PACKETS] += 1
    if net.flow[f, FlowCol.END] < 0:
        acked = net.flow[f, FlowCol.ACKED]
        if seq > acked:
            net.flow[f, FlowCol.ACKED] = seq
            net.flow[f, FlowCol.PROGRESS] = now
            if seq > net.flow[f, FlowCol.NEXT]:
                net.flow[f, FlowCol.NEXT] = seq
            deliver(net, f, now)
        gap = net.cfg[Cfg.SELECTIVE] != 0 and learn(net, f, acked, row)
        if seq >= net.flow[f, FlowCol.SIZE]:
            net.flow[f, FlowCol.END] = now
            remove_flow(net, f)
            net.ctl[Ctl.DONE] += 1
            net.ctl[Ctl.DONE_AT] = now
        if kind == Kind.NACK:
            again = net.flow[f, FlowCol.NEXT] - net.flow[f, FlowCol.ACKED]
            net.flow[f, FlowCol.NEXT] = net.flow[f, FlowCol.ACKED]
            if again > 0:
                observe(net, f, _ARRIVAL, again, now)
        if kind == Kind.NACK or gap:
            lose(net, f, False, now)
        full = completes(net, f, seq, row)
        if full and net.cfg[Cfg.SCORE_SOURCE] == ScoreSource.FORGED:
            restore_score(net, f, now)
        told = rtt
        if hears:
            told = heard(net, f, rtt, now)
        predicted = decide(net, row, max(seq - acked, 0), full, told, now)
        if full and 0 < net.cfg[Cfg.SCORE_SOURCE] < ScoreSource.QUEUE:
            make_score(net, f, now)
        if net.cfg[Cfg.HINT_ECHO] != 0:
            hear_level(net, f, net.telemetry[row, 0], now)
        if net.cfg[Cfg.HINT_START] != 0:
            keep_cap(net, f)
        if net.cfg[Cfg.SCORE_ECHO] != 0:
            hear(net, f, net.telemetry[row, 0], full, now)
        if full:
            n = net.ctl[Ctl.SAMPLES]
            if n >= net.samples.shape[0]:
                net.ctl[Ctl.ERROR] = Err.RECORD
                return -1
            net.samples[n, 0] = f
            net.samples[n, 1] = now
            net.samples[n, 2] = rtt
            net.sample_f[n, 0] = net.real[f, FlowCol.RATE]
            net.sample_f[n, 1] = predicted
            net.ctl[Ctl.SAMPLES] = n + 1
            if net.flow[f, FlowCol.NEXT] > net.flow[f, FlowCol.SAMPLE_SEQ]:
                net.flow[f, FlowCol.SAMPLE_SEQ] = net.flow[f, FlowCol.NEXT]
        wake_earlier(net, f, now)
        kick = net.flow[f, FlowCol.PORT]
    free(net, row)
    return int(kick)


@inlined
def timed_out(net: Net, row: int, now: int) -> int:
    """The time-out in `row` may have passed. Returns the port to serve, -1: none."""
    kick = -1
    f = net.rec[row, Rec.OWNER]
    if net.flow[f, FlowCol.END] < 0:
        again = net.flow[f, FlowCol.NEXT] - net.flow[f, FlowCol.ACKED]
        low = net.cfg[Cfg.LOW_TIMEOUT_PS]
        wait = net.cfg[Cfg.TIMEOUT_PS]
        if low > 0 and again <= net.cfg[Cfg.FEW_BYTES]:
            wait = low
        due = net.flow[f, FlowCol.PROGRESS] + wait
        if now >= due:
            if again > 0:
                if net.cfg[Cfg.SELECTIVE] != 0:
                    all_lost(net, f)
                else:
                    net.flow[f, FlowCol.NEXT] = net.flow[f, FlowCol.ACKED]
                    observe(net, f, _ARRIVAL, again, now)
                net.ctl[Ctl.TIMEOUTS] += 1
                lose(net, f, True, now)
                kick = net.flow[f, FlowCol.PORT]
            net.flow[f, FlowCol.PROGRESS] = now
            due = now + wait
        if low > 0:
            due = min(due, now + low)  # few may be outstanding by then
        schedule(net, row, due)
    return int(kick)
