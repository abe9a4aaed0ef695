"""Jitter of one flow's round-trip times, as a host adds it: late completions, not late wires."""

from precog_sim.network.draws import uniform
from precog_sim.network.jit import inlined
from precog_sim.network.layout import FlowCol, Kind, Rec
from precog_sim.network.net import Net
from precog_sim.network.wheel import schedule

__all__ = ["completes", "held_back"]

_PS_PER_NS = 1000


@inlined
def held_back(net: Net, kind: int, row: int, now: int) -> bool:
    """Whether the acknowledgement in `row` is to come again later, because its flow has jitter.

    Only the one that would complete a sample is held back. If all were, the quickest of a round
    trip's many would complete it, and the law would see next to none of the jitter.
    """
    f = net.rec[row, Rec.OWNER]
    if (
        net.flow[f, FlowCol.JITTER] == 0
        or net.flow[f, FlowCol.HELD] != 0
        or kind != Kind.ACK
        or net.rec[row, Rec.SEQ] <= net.flow[f, FlowCol.SAMPLE_SEQ]
    ):
        return False
    net.flow[f, FlowCol.HELD] = row
    late_ns = int(uniform(net) * (net.flow[f, FlowCol.JITTER] // _PS_PER_NS + 1))
    schedule(net, row, now + late_ns * _PS_PER_NS)
    return True


@inlined
def completes(net: Net, f: int, seq: int, row: int) -> bool:
    """Whether the acknowledgement in `row` completes a sample: none does while one is held back."""
    held = net.flow[f, FlowCol.HELD]
    if seq <= net.flow[f, FlowCol.SAMPLE_SEQ] or (held != 0 and held != row):
        return False
    net.flow[f, FlowCol.HELD] = 0
    return True
