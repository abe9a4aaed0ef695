"""Jitter of one flow's round-trip times, as a host adds it: late completions, not late wires."""

from precog_sim.network.draws import of_flow
from precog_sim.network.jit import inlined
from precog_sim.network.layout import FlowCol, Kind, Rec
from precog_sim.network.net import Net
from precog_sim.network.wheel import schedule

__all__ = ["completes", "held_back"]

_PS_PER_NS = 1000


@inlined
def _postpone(net: Net, f: int, row: int, now: int) -> None:
    """Let `row` come again after a time that is drawn."""
    late_ns = int(of_flow(net, f) * (net.flow[f, FlowCol.JITTER] // _PS_PER_NS + 1))
    schedule(net, row, now + late_ns * _PS_PER_NS)


@inlined
def held_back(net: Net, kind: int, row: int, now: int) -> bool:
    """Whether the acknowledgement in `row` is to come again later, because its flow has jitter.

    Either only the one that would complete a sample is held back, or each one is. Of all, the
    quickest of a round trip's many completes the sample, and a law of samples sees next to none of
    the jitter.
    """
    f = net.rec[row, Rec.OWNER]
    if net.flow[f, FlowCol.JITTER] == 0 or kind != Kind.ACK:
        return False
    if net.flow[f, FlowCol.JITTER_ALL] != 0:
        if net.rec[row, Rec.SIZE] == 0:
            return False
        net.rec[row, Rec.SIZE] = 0  # it has been; its size is not needed any more
        _postpone(net, f, row, now)
        return True
    if net.flow[f, FlowCol.HELD] != 0 or net.rec[row, Rec.SEQ] <= net.flow[f, FlowCol.SAMPLE_SEQ]:
        return False
    net.flow[f, FlowCol.HELD] = row
    _postpone(net, f, row, now)
    return True


@inlined
def completes(net: Net, f: int, seq: int, row: int) -> bool:
    """Whether the acknowledgement in `row` completes a sample: none does while one is held back."""
    held = net.flow[f, FlowCol.HELD]
    if seq <= net.flow[f, FlowCol.SAMPLE_SEQ] or (held != 0 and held != row):
        return False
    net.flow[f, FlowCol.HELD] = 0
    return True
