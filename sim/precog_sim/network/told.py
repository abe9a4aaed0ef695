"""Levels in the network: receivers count flows, acknowledgements say the level, starts believe it.

See `hints`. A flow counts from its first packet, which announces all of its bytes.
"""

from precog_sim.network.control import Cfg
from precog_sim.network.draws import drawn
from precog_sim.network.jit import inlined, outlined
from precog_sim.network.laws import score
from precog_sim.network.layout import (
    FlowCol,
    HintCol,
    InboundCol,
    KnownCol,
    LawCol,
    Lie,
    Window,
)
from precog_sim.network.net import Net
from precog_spec.frames.cps import LEVEL_MAX

__all__ = ["believe", "count_inbound", "count_own", "hear_level", "keep_cap"]

_INVERTED_FROM = 6
_HEEDED = 2
_FIRST_BYTES = 1 << 16  # a window that tells what a start has met


@inlined
def _level(count: int) -> int:
    """Binary logarithm, rounded up."""
    level = 0
    while 1 << level < count and level < LEVEL_MAX:
        level += 1
    return level


@outlined
def count_inbound(net: Net, f: int, row: int, now: int) -> None:
    """A packet of `f` has come; its acknowledgement in `row` gets the level that is said."""
    host = net.flow[f, FlowCol.DST]
    left = net.flow[f, FlowCol.SIZE] - net.flow[f, FlowCol.EXPECTED]
    counts = int(left > 0 and net.flow[f, FlowCol.SIZE] > net.cfg[Cfg.HINT_LEAST])
    net.inbound[host, InboundCol.COUNT] += counts - net.told[f, HintCol.COUNTED]
    net.told[f, HintCol.COUNTED] = counts
    level = _level(net.inbound[host, InboundCol.COUNT])
    lie = net.inbound[host, InboundCol.LIE]
    if lie == Lie.MOST:
        level = LEVEL_MAX
    elif lie == Lie.NOTHING:
        level = 0
    elif lie == Lie.RANDOM:
        level = int(drawn(net.inbound[host], InboundCol.RNG) * (LEVEL_MAX + 1))
    elif lie == Lie.INVERTED:
        level = max(_INVERTED_FROM - level, 0)
    elif lie == Lie.STALE:
        if now >= net.inbound[host, InboundCol.UNTIL]:
            net.inbound[host, InboundCol.SAID] = level
            net.inbound[host, InboundCol.UNTIL] = now + net.cfg[Cfg.HINT_STALE_PS]
        level = net.inbound[host, InboundCol.SAID]
    net.telemetry[row, 0] = level


@inlined
def hear_level(net: Net, f: int, level: int, now: int) -> None:
    """An acknowledgement has brought a level: the table notes it, a law hears of changes."""
    if net.cfg[Cfg.HINT_TABLE_PS] > 0:
        src, dst = net.flow[f, FlowCol.SRC], net.flow[f, FlowCol.DST]
        old = now - net.known[src, dst, KnownCol.TIME] > net.cfg[Cfg.HINT_TABLE_PS]
        if old or level >= net.known[src, dst, KnownCol.LEVEL]:
            net.known[src, dst, KnownCol.LEVEL] = level
            net.known[src, dst, KnownCol.TIME] = now
    if level > net.told[f, HintCol.FIRST_LEVEL] and net.flow[f, FlowCol.ACKED] <= _FIRST_BYTES:
        net.told[f, HintCol.FIRST_LEVEL] = level
        net.told[f, HintCol.FIRST_LEVEL_AT] = now
    count_own(net, f)
    level = _relative(net, f, level)
    before = net.told[f, HintCol.LEVEL]
    if level > before or now - net.told[f, HintCol.LEVEL_AT] > net.cfg[Cfg.HINT_HOLD_PS]:
        net.told[f, HintCol.LEVEL] = level
        net.told[f, HintCol.LEVEL_AT] = now
        if level != before:
            score(net, f, level, now)


@inlined
def count_own(net: Net, f: int) -> None:
    """Count `f` at its sender until all of it is acknowledged, unless it is short."""
    left = net.flow[f, FlowCol.SIZE] - net.flow[f, FlowCol.ACKED]
    counts = int(left > 0 and net.flow[f, FlowCol.SIZE] > net.cfg[Cfg.HINT_LEAST])
    net.inbound[net.flow[f, FlowCol.SRC], InboundCol.OWN] += counts - net.told[f, HintCol.OWN]
    net.told[f, HintCol.OWN] = counts


@inlined
def _relative(net: Net, f: int, level: int) -> int:
    """The level, or 0 where the flows of the sender's own link are more than half as many."""
    own = net.inbound[net.flow[f, FlowCol.SRC], InboundCol.OWN]
    return 0 if 1 << level < 2 * own else level


@outlined
def believe(net: Net, f: int, now: int) -> None:
    """`f` begins: its cap holds, and its law hears the level that is believed."""
    net.told[f, HintCol.CAP] = net.cfg[Cfg.HINT_FIRST]
    level = net.told[f, HintCol.GUESS]
    if net.cfg[Cfg.HINT_TABLE_PS] > 0:
        src, dst = net.flow[f, FlowCol.SRC], net.flow[f, FlowCol.DST]
        time = net.known[src, dst, KnownCol.TIME]
        if time > 0 and now - time <= net.cfg[Cfg.HINT_TABLE_PS]:
            level = max(level, net.known[src, dst, KnownCol.LEVEL])
    if net.cfg[Cfg.HINT_ECHO] != 0:
        level = _relative(net, f, level)
    if level >= _HEEDED and net.flow[f, FlowCol.SIZE] > net.cfg[Cfg.HINT_LEAST]:
        net.told[f, HintCol.LEVEL] = level
        # As if heard long ago: the receiver's first word replaces it.
        net.told[f, HintCol.LEVEL_AT] = now - net.cfg[Cfg.HINT_HOLD_PS] - 1
        score(net, f, level, now)


@inlined
def keep_cap(net: Net, f: int) -> None:
    """No more bytes in flight than its cap, while one holds, whatever its law decides."""
    cap = net.told[f, HintCol.CAP]
    if cap == 0:
        return
    if net.flow[f, FlowCol.ACKED] >= cap:
        net.told[f, HintCol.CAP] = 0
    elif net.law[net.flow[f, FlowCol.LAW], LawCol.WINDOW] == Window.OWN:
        net.flow[f, FlowCol.WINDOW] = min(net.flow[f, FlowCol.WINDOW], cap)
