"""Lockstep that heeds its receiver's word of N, the flows that share the receiver's link.

    N is 2**senders or less. A word before the first acknowledgement is a belief:
        window = 2 part BDP / 2**senders
    The first acknowledgement after a belief, and the first word after that:
        W = 2 part BDP / 2**senders, or that of the start, up to start BDP, if `senders` < `heeded`
    An acknowledgement that met a queue of more than `sign`:
        W = min(W, 2 part BDP / 2**senders)
    A round trip later, each `idle` acknowledgements in a row that met less than `rest`, or less
    than `calm` where W is 2 fair BDP / 2**senders or more:
        W = max(2 fair BDP / 2**senders, W (1 + more)), up to BDP / 2
    A lower word after a cut, whatever queue there is:
        W = max(W, 2 fall BDP / 2**senders), up to BDP / 2
    W of less than a packet:
        W = max(W, min(kept BDP / 2**senders, packet))

Two signs must agree, a word and a queue of one's own, or a word and a belief: a false word of an
idle link cuts nothing. The queue of an incast is longer than `sign`, 2 base round trips, at once;
that of a few starts or of a collective is not. A false belief costs a round trip: the first word
ends it. A belief ends with the first acknowledgement a round trip later, too: that one alone raises
W if it met an idle link.
A window of less than its share rises to it as soon as the link has room; a larger one has had its
share, so that it waits for an idle link. Else windows rise and fall by turns, and the link idles.
The link is found idle where a word was false, and where the others have ended. A window of less
than four packets hears so seldom that `few` acknowledgements are enough: each is a round trip
later than the one before. Less than one packet needs no cut: lockstep adds so little to it in a
round trip that the end of an all-to-all would wait for it. Larger windows leave such a flow less
than its share, so that an incast's end would wait for it, too: it keeps the half. Levels below
`heeded` are left to lockstep.

Flows that are left at an incast's end would have the window of a share of all until the link is
idle. A lower word says that others have ended, so that those left rise to a share of theirs. One
share is no more than the link has in flight, so a queue that is there need not end first.

A long message need not be there first: while it lasts others will come, and a start at line rate
makes them wait. Where a host believes a level of 3 for it, preset `bulk` keeps what that says,
a quarter of the link, until acknowledgements let W grow. A lower word does not raise it at once
either: it would take room from the shorter ones.

A receiver's lie can take down to `2 part BDP / 2**deepest`, from its senders, until the link is
found idle.
"""

from .language import FACTOR, Field, Fmt, Parameter, Preset, Q, Record, clamp, scale, wrap
from .library import bytes_over, rate_over, upper
from .lockstep import PARAMETERS as _LOCKSTEP_PARAMETERS
from .lockstep import STATE as _LOCKSTEP_STATE
from .lockstep import WINDOWED
from .lockstep import on_ack as _lockstep

__all__ = ["PARAMETERS", "PRESETS", "STATE", "WINDOWED"]

_LEVEL = Q(4, 0, signed=False)
_COUNT = Q(6, 0, signed=False)
_T_MIN = 16
_T_MAX = (1 << 24) - 1
_PSN_BITS = 24
_HALF_PSN = 1 << 23
_TOLD_AT = 24
_LEVEL_BITS = 4
_LEVEL_AT = 28
_LEVELS = 255 << _TOLD_AT
_CUT_AT = 32
_IDLES_AT = 33
_IDLES_MAX = _COUNT.max
_BELIEVED_AT = 39
_ONE = 8  # a packet, with 8 fraction bits
_FEW = 10  # four packets
_WINDOW_MAX = (1 << 32) - 1
_CUTS = -1  # instead of a count
_BULK = {"start": 0.25, "fall": 0.0}

PARAMETERS = (
    *_LOCKSTEP_PARAMETERS,
    Parameter("part", FACTOR, "", 1.0, "half of the window at a cut or a start, in fair shares"),
    Parameter("heeded", _LEVEL, "", 2, "least binary logarithm of N that is heeded"),
    Parameter("deepest", _LEVEL, "", 4, "greatest one; more counts as this"),
    Parameter("sign", Fmt.RTT, "us", 8.0, "queueing delay that agrees with a word"),
    Parameter("rest", Fmt.RTT, "us", 2.0, "queueing delay of a link with room for a fair share"),
    Parameter("calm", Fmt.RTT, "us", 0.1, "queueing delay of an idle link"),
    Parameter("fair", FACTOR, "", 0.75, "half of the window after a cut, in fair shares"),
    Parameter("fall", FACTOR, "", 0.5, "half of the window where N has fallen, in fair shares"),
    Parameter("finest", _LEVEL, "", 6, "greatest level of those shares; more counts as this"),
    Parameter("more", FACTOR, "", 0.3, "what it gains at least, part of W"),
    Parameter("kept", FACTOR, "", 0.5, "fair shares that a window of less than a packet keeps"),
    Parameter("few", _COUNT, "", 2, "as many, for a window of less than four packets"),
    Parameter("idle", _COUNT, "", 4, "acknowledgements that find the link idle; 0: none do"),
    Parameter("start", FACTOR, "", 1.0, "most that W is after a false belief, part of BDP"),
)
PRESETS = {
    "bulk": Preset("messages of 30 BDP and more, whose start yields to shorter ones", _BULK),
}
STATE = (
    *_LOCKSTEP_STATE,
    Field(
        "word",
        Q(40, 0, signed=False),
        "PSN behind which a cut shows, 24 bits; level that was told and not heeded, 4; level told "
        "last, 4; whether there was a cut, 1; acknowledgements in a row that met an idle link, 6; "
        "whether the cut is a belief's, 1",
    ),
)


def _share(p: Record, e: Record, part: int, level: int) -> int:
    """Twice this part of a fair share of the link, as a window."""
    t = clamp(e.base, _T_MIN, _T_MAX)
    share = scale(bytes_over(e.max_rate, t) << 1, part) >> level
    return max(share, max(bytes_over(e.min_rate, t), 1))


def _lower(s: Record, e: Record, rate: int, window: int) -> tuple[int, int]:
    """Rate and window where W has become smaller."""
    t = clamp(e.base, _T_MIN, _T_MAX)
    return min(rate, rate_over(s.w, t)), min(window, max(s.w >> 8, 1))


def _keeps(p: Record, s: Record, e: Record, level: int) -> int:
    """A window of less than a packet keeps a part of its fair share: 1 if it had less."""
    t = clamp(e.base, _T_MIN, _T_MAX)
    least = min(scale(bytes_over(e.max_rate, t), p.kept) >> level, e.mtu << _ONE)
    if s.w >= least:
        return 0
    s.w = least
    return 1


def _enough(p: Record, s: Record, e: Record) -> int:
    """How many acknowledgements in a row must meet an idle link, a round trip after a cut; or 0."""
    enough = p.idle
    if s.w < e.mtu << _FEW:
        enough = min(enough, p.few)
    if s.w >= e.mtu << _ONE:
        ahead = wrap(e.seq - s.word, _PSN_BITS)
        if wrap(s.word >> _CUT_AT, 1) == 0 or ahead == 0 or ahead >= _HALF_PSN:
            enough = 0
    return enough


def _rises(
    p: Record, s: Record, e: Record, share: int, queue: int, enough: int, raised: int
) -> int:
    """The end of a cut, by steps, as long as the link is idle: 1 if it rises, else `raised`.

    The bit of a belief is above the count: a belief's first one is enough, and clears it.
    """
    limit = p.rest
    if s.w >= share:
        limit = p.calm
    idles = min((s.word >> _IDLES_AT) + 1, _IDLES_MAX)
    if queue >= limit:
        idles = 0
    s.word = (idles << _IDLES_AT) + wrap(s.word, _IDLES_AT)
    if idles < enough:
        return raised
    most = bytes_over(e.max_rate, clamp(e.base, _T_MIN, _T_MAX)) >> 1
    w = min(max(share, s.w + scale(s.w, p.more)), most)
    s.w = max(s.w, w)
    s.word = (s.word & _LEVELS) + e.next
    if w < most:
        s.word = s.word + (1 << _CUT_AT)
    return 1


def on_ack(p: Record, s: Record, e: Record) -> tuple[int, int]:
    """Lockstep's decision, a cut that was waiting for its second sign, or the end of a cut."""
    first = s.w
    rate, window = _lockstep(p, s, e)
    if e.bytes == 0:
        return rate, window
    queue = e.rtt - e.base
    told = wrap(s.word >> _TOLD_AT, _LEVEL_BITS)
    level = wrap(s.word >> _LEVEL_AT, _LEVEL_BITS)
    raised = 0
    enough = _CUTS
    if told >= p.heeded and (first == 0 or queue > p.sign):
        part = p.part
        heard = min(told, p.deepest)
    else:
        if level >= p.heeded and s.w < e.mtu << _ONE:
            raised = _keeps(p, s, e, level)
        enough = _enough(p, s, e)
        part = p.fair
        heard = min(max(level, p.heeded), p.finest)
    if enough != 0:
        share = _share(p, e, part, heard)
        if enough < 0:
            s.w = min(share, s.w)
            s.word = (1 << _CUT_AT) + (level << _LEVEL_AT) + e.next
            if first == 0:
                s.word = s.word + (1 << _BELIEVED_AT)
            rate, window = _lower(s, e, rate, window)
            return rate, window
        raised = _rises(p, s, e, share, queue, enough, raised)
    if raised == 0:
        return rate, window
    t = clamp(e.base, _T_MIN, _T_MAX)
    return max(rate, min(rate_over(s.w, t), e.max_rate)), max(window, s.w >> 8)


def on_score(p: Record, s: Record, e: Record) -> tuple[int, int]:
    """The receiver's level has changed, or one is believed; or a score has come."""
    before = wrap(s.word >> _LEVEL_AT, _LEVEL_BITS)
    if e.senders == before:
        return e.rate, e.window
    believed = s.word >> _BELIEVED_AT
    fell = 0
    if e.senders < before and believed == 0:
        fell = wrap(s.word >> _CUT_AT, 1)
    s.word = upper(s.word, _CUT_AT) + wrap(s.word, _PSN_BITS)
    s.word = s.word + (e.senders << _LEVEL_AT) + (e.senders << _TOLD_AT)
    rate, window = e.rate, e.window
    if e.held > 0:
        return rate, window
    t = clamp(e.base, _T_MIN, _T_MAX)
    full = bytes_over(e.max_rate, t)
    lower = believed
    if believed > 0:
        s.w = max(min(bytes_over(e.init_rate, t), scale(full, p.start)), 1)
        s.word = (e.senders << _LEVEL_AT) + wrap(s.word, _PSN_BITS)
        rate, window = e.max_rate, _WINDOW_MAX
    if e.senders >= p.heeded:
        level = e.senders
        if s.w > 0:
            level = min(level, p.deepest)
        share = _share(p, e, p.part, level)
        if s.w == 0:
            share = max(share >> 8, 1)
            if window > 0:
                share = min(share, window)
            return rate, share
        if believed > 0 or s.last - e.base > p.sign:
            lower = 1
            s.w = min(share, s.w)
            s.word = (believed << _BELIEVED_AT) + (1 << _CUT_AT) + (e.senders << _LEVEL_AT) + e.next
    if fell > 0:
        share = _share(p, e, p.fall, min(max(e.senders, p.heeded), p.finest))
        share = min(share, full >> 1)
        if s.w < share:
            s.w = share
            rate = max(rate, min(rate_over(share, t), e.max_rate))
            return rate, max(window, share >> 8)
    if lower > 0:
        rate, window = _lower(s, e, rate, window)
    return rate, window
