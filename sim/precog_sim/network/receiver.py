"""Hosts that receive: acknowledgements, notifications, and flows that waited for others."""

from precog_sim.network.answers import waits
from precog_sim.network.control import Cfg, Ctl
from precog_sim.network.jit import inlined
from precog_sim.network.layout import FlowCol, Kind, LawCol, PrioCol, Rec
from precog_sim.network.net import Net
from precog_sim.network.pool import allocate, free
from precog_sim.network.queues import push_answer
from precog_sim.network.selective import accept, says
from precog_sim.network.told import count_inbound
from precog_sim.network.turns import priority_of
from precog_sim.network.wheel import schedule

__all__ = ["CNP_BYTES", "receive_data", "release_followers"]

CNP_BYTES = 74  # Ethernet 14, IPv4 20, UDP 8, BTH 12, 16 reserved, ICRC 4
_ACK, _NACK = int(Kind.ACK), int(Kind.NACK)


@inlined
def receive_data(net: Net, row: int, now: int) -> int:
    """Data has reached its host: answer in place. Returns the port to serve, -1: no answer."""
    p = net.rec[row, Rec.PORT]
    f = net.rec[row, Rec.OWNER]
    mark = net.rec[row, Rec.KIND] & Kind.MARK
    law = net.flow[f, FlowCol.LAW]
    expected = net.flow[f, FlowCol.EXPECTED]
    seq = net.rec[row, Rec.SEQ]
    net.ctl[Ctl.DATA_GOT] += 1
    answer = _ACK
    payload = net.rec[row, Rec.SIZE] - net.law[law, LawCol.HEADER]
    if net.cfg[Cfg.SELECTIVE] != 0:
        accept(net, f, seq, payload)
        says(net, f, seq, row)
    elif seq == expected:
        net.flow[f, FlowCol.EXPECTED] = expected + payload
    elif seq > expected:
        if net.flow[f, FlowCol.NACK_SEQ] == expected and now < net.flow[f, FlowCol.NACK_TIME]:
            free(net, row)
            return -1
        net.flow[f, FlowCol.NACK_SEQ] = expected
        net.flow[f, FlowCol.NACK_TIME] = now + net.cfg[Cfg.NACK_PS]
        answer = _NACK
        net.ctl[Ctl.NACKS] += 1
    else:
        net.ctl[Ctl.DUPLICATES] += 1
    cnp_ps = net.law[law, LawCol.CNP_PS]
    if cnp_ps > 0 and mark != 0 and now >= net.flow[f, FlowCol.CNP_TIME]:
        cnp = allocate(net)
        if cnp < 0:
            return cnp
        net.flow[f, FlowCol.CNP_TIME] = now + cnp_ps
        net.rec[cnp, Rec.KIND] = Kind.CNP
        net.rec[cnp, Rec.OWNER] = f
        net.rec[cnp, Rec.SIZE] = CNP_BYTES
        net.rec[cnp, Rec.PORT] = p
        push_answer(net, cnp)
        net.ctl[Ctl.CNPS] += 1
    if net.cfg[Cfg.HINT_ECHO] != 0:
        count_inbound(net, f, row, now)
    next_seq = net.flow[f, FlowCol.EXPECTED]
    net.rec[row, Rec.KIND] = answer | mark
    net.rec[row, Rec.SEQ] = next_seq
    net.rec[row, Rec.SIZE] = net.law[law, LawCol.ACK_BYTES]
    if net.cfg[Cfg.ACK_EVERY] > 1:
        in_order = 0 < next_seq - expected <= net.cfg[Cfg.PAYLOAD]
        prompt = not in_order or next_seq >= net.flow[f, FlowCol.SIZE]
        if waits(net, f, row, prompt, now):
            return int(p) if net.prio[priority_of(net, p, f), PrioCol.HEAD] >= 0 else -1
    push_answer(net, row)
    return int(p)


@inlined
def release_followers(net: Net, f: int, now: int) -> None:
    """All of `f` has arrived: those that waited for it alone begin after their gap."""
    first = net.flow[f, FlowCol.FOLLOWER]
    for k in range(first, first + net.flow[f, FlowCol.FOLLOWERS]):
        g = net.followers[k]
        net.flow[g, FlowCol.WAITS] -= 1
        if net.flow[g, FlowCol.WAITS] == 0:
            row = allocate(net)
            if row < 0:
                return
            net.rec[row, Rec.KIND] = Kind.BEGIN
            net.rec[row, Rec.OWNER] = g
            schedule(net, row, now + net.flow[g, FlowCol.GAP])
    net.flow[f, FlowCol.FOLLOWERS] = 0
