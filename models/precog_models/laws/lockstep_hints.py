"""Lockstep that heeds its receiver's word of N, the flows that share the receiver's link.

    N is 2**senders or less. A word before the first acknowledgement is a belief:
        window = 2 part BDP / 2**senders
    The first acknowledgement after a belief, and the first word after that:
        W = 2 part BDP / 2**senders, or that of the start if `senders` is less than `heeded`
    An acknowledgement that met a queue of more than `sign`:
        W = min(W, 2 part BDP / 2**senders)
    A round trip later, each `idle` acknowledgements in a row that met less than `rest`:
        W = max(2 fair BDP / 2**senders, W (1 + more)), up to BDP / 2

Two signs must agree, a word and a queue of one's own, or a word and a belief: a false word of an
idle link cuts nothing. The queue of an incast is longer than `sign`, 2 base round trips, at once;
that of a few starts or of a collective is not. A false belief costs a round trip: the first word
ends it. A belief ends with the first acknowledgement a round trip later, too: that one alone raises
W if it met an idle link.
The link is found idle where a word was false, and where the others have ended. A window of less
than four packets hears so seldom that `few` acknowledgements are enough: each is a round trip
later than the one before. Less than one packet needs no cut: lockstep adds so little to it in a
round trip that the end of an all-to-all would wait for it. Levels below `heeded` are left to
lockstep. A receiver's lie can take down to `2 part BDP / 2**deepest`, from its senders, until the
link is found idle.
"""

from .language import FACTOR, Field, Fmt, Parameter, Q, Record, clamp, scale, wrap
from .library import bytes_over, rate_over, upper
from .lockstep import PARAMETERS as _LOCKSTEP_PARAMETERS
from .lockstep import STATE as _LOCKSTEP_STATE
from .lockstep import WINDOWED
from .lockstep import on_ack as _lockstep

__all__ = ["PARAMETERS", "STATE", "WINDOWED"]

_LEVEL = Q(4, 0, signed=False)
_COUNT = Q(6, 0, signed=False)
_T_MIN = 16
_T_MAX = (1 << 24) - 1
_PSN_BITS = 24
_HALF_PSN = 1 << 23
_TOLD_AT = 24
_LEVEL_BITS = 4
_LEVEL_AT = 28
_CUT_AT = 32
_IDLES_AT = 33
_IDLES_MAX = _COUNT.max
_BELIEVED_AT = 39
_ONE = 8  # a packet, with 8 fraction bits
_FEW = 10  # four packets

PARAMETERS = (
    *_LOCKSTEP_PARAMETERS,
    Parameter("part", FACTOR, "", 1.0, "half of the window at a cut or a start, in fair shares"),
    Parameter("heeded", _LEVEL, "", 2, "least binary logarithm of N that is heeded"),
    Parameter("deepest", _LEVEL, "", 4, "greatest one; more counts as this"),
    Parameter("sign", Fmt.RTT, "us", 8.0, "queueing delay that agrees with a word"),
    Parameter("rest", Fmt.RTT, "us", 1.0, "queueing delay of an idle link"),
    Parameter("fair", FACTOR, "", 0.75, "half of the window after a cut, in fair shares"),
    Parameter("more", FACTOR, "", 0.3, "what it gains at least, part of W"),
    Parameter("few", _COUNT, "", 2, "as many, for a window of less than four packets"),
    Parameter("idle", _COUNT, "", 4, "acknowledgements that find the link idle; 0: none do"),
)
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


def _limited(s: Record, e: Record, share: int, rate: int, window: int) -> tuple[int, int]:
    """A window that is a share."""
    s.w = share
    t = clamp(e.base, _T_MIN, _T_MAX)
    return min(rate, rate_over(share, t)), min(window, max(share >> 8, 1))


def _raised(p: Record, s: Record, e: Record, share: int, rate: int, window: int) -> tuple[int, int]:
    """The link is idle."""
    t = clamp(e.base, _T_MIN, _T_MAX)
    most = bytes_over(e.max_rate, t) >> 1
    w = min(max(share, s.w + scale(s.w, p.more)), most)
    s.w = max(s.w, w)
    s.word = (wrap(s.word >> _TOLD_AT, 2 * _LEVEL_BITS) << _TOLD_AT) + e.next
    if w < most:
        s.word = s.word + (1 << _CUT_AT)
    return max(rate, min(rate_over(s.w, t), e.max_rate)), max(window, s.w >> 8)


def _idle(p: Record, s: Record, e: Record, queue: int) -> int:
    """Above 0 if enough acknowledgements in a row met an idle link; a round trip after a cut.

    The bit of a belief is above their count: a belief's first one is enough, and clears it.
    """
    enough = p.idle
    if s.w < e.mtu << _FEW:
        enough = min(enough, p.few)
    if enough == 0:
        return 0
    if s.w >= e.mtu << _ONE:
        ahead = wrap(e.seq - s.word, _PSN_BITS)
        if wrap(s.word >> _CUT_AT, 1) == 0 or ahead == 0 or ahead >= _HALF_PSN:
            return 0
    idles = min((s.word >> _IDLES_AT) + 1, _IDLES_MAX)
    if queue >= p.rest:
        idles = 0
    s.word = (idles << _IDLES_AT) + wrap(s.word, _IDLES_AT)
    return idles + 1 - enough


def on_ack(p: Record, s: Record, e: Record) -> tuple[int, int]:
    """Lockstep's decision, a cut that was waiting for its second sign, or the end of a cut."""
    first = s.w
    rate, window = _lockstep(p, s, e)
    if e.bytes == 0:
        return rate, window
    queue = e.rtt - e.base
    told = wrap(s.word >> _TOLD_AT, _LEVEL_BITS)
    level = wrap(s.word >> _LEVEL_AT, _LEVEL_BITS)
    if told >= p.heeded and (first == 0 or queue > p.sign):
        share = min(_share(p, e, p.part, min(told, p.deepest)), s.w)
        s.word = (1 << _CUT_AT) + (level << _LEVEL_AT) + e.next
        if first == 0:
            s.word = s.word + (1 << _BELIEVED_AT)
        rate, window = _limited(s, e, share, rate, window)
        return rate, window
    idle = _idle(p, s, e, queue)
    if idle > 0:
        share = _share(p, e, p.fair, min(max(level, p.heeded), p.deepest))
        rate, window = _raised(p, s, e, share, rate, window)
    return rate, window


def on_score(p: Record, s: Record, e: Record) -> tuple[int, int]:
    """The receiver's level has changed, or one is believed; or a score has come."""
    if e.senders == wrap(s.word >> _LEVEL_AT, _LEVEL_BITS):
        return e.rate, e.window
    believed = s.word >> _BELIEVED_AT
    s.word = upper(s.word, _CUT_AT) + wrap(s.word, _PSN_BITS)
    s.word = s.word + (e.senders << _LEVEL_AT) + (e.senders << _TOLD_AT)
    rate, window = e.rate, e.window
    if e.held > 0:
        return rate, window
    if believed > 0:
        t = clamp(e.base, _T_MIN, _T_MAX)
        s.w = min(max(bytes_over(e.init_rate, t), 1), bytes_over(e.max_rate, t))
        s.word = (e.senders << _LEVEL_AT) + wrap(s.word, _PSN_BITS)
        rate, window = min(rate_over(s.w, t), e.max_rate), max(s.w >> 8, 1)
    if e.senders < p.heeded:
        return rate, window
    if s.w == 0:
        share = max(_share(p, e, p.part, e.senders) >> 8, 1)
        if window > 0:
            share = min(share, window)
        return rate, share
    if believed > 0 or s.last - e.base > p.sign:
        share = min(_share(p, e, p.part, min(e.senders, p.deepest)), s.w)
        s.word = (believed << _BELIEVED_AT) + (1 << _CUT_AT) + (e.senders << _LEVEL_AT) + e.next
        rate, window = _limited(s, e, share, rate, window)
    return rate, window
