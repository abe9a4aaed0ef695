"""Lockstep: a phase-locked window on the RTTs of all acknowledgements; no telemetry.

    T   = base RTT + lift + noise,  BDP = link * T,  rho = W / BDP,  q = RTT - T
    qs  = T min(s rho**-1/2, cap)                          queueing delay to aim at
    hi  = 2 qs + slack
    a round ends after >= 16 acknowledgements, with one of a packet sent in it, or when q > hi;
    with W < 8 packets after 8 if all of them met q < 0.6 qs, else after 8 more; with W < 1.5
    packets after 2 if both did, else after 8 more:
        qr = least q of its last 8..16 acknowledgements
        qr > hi                    W = min(W, W0 (T + qs) / (T + qr))
        q < 0.6 qs for >= 0.6      W += min(ramp BDP, max(most W, packet)) (2 share - 1)
                                   ramp .05, .15, .45, 1
        W0 = W of the round before: the window with which acknowledged packets were sent
    each acknowledgement of b bytes with q <= hi:  W += g min(b, W) max(qs - q, floor) / T
    with q > hi, for this acknowledgement alone:   min(W, W0 (T + qs) / RTT)
    window = W + 2 (b - packet), rate = W / RTT, RTT limited to T .. T + stretch

Pacing by the last RTT is what locks flows to each other's gaps: a packet that met a queue makes its
successors later.

Eight additions keep the lock from doing harm:

Small windows. 16 acknowledgements of a window of two packets take eight round trips, in which a
    link that others have left stays idle, so its rounds may be shorter. Below one packet an
    acknowledgement comes once in several round trips, and rounds lose their meaning. There W moves
    by the part `small` to W (T + qs) / RTT + add (packet - W).
Slips. Flows at a rational ratio of rates, 3:2 or 7:4, lock as well, and stay unequal with equal
    delays. One round in `slip` is paced slower by a random part of a packet's gap.
Lift. If T is believed too low, the link is never seen idle. A flow compares T with the least mean
    of 16 RTTs in `watch` rounds. What that is above T, less `spare`, lifts T, by at most `rise` for
    an eighth of the link or more, in proportion to 24 rho - 2 below, and by nothing from a twelfth.
Noise. The least RTT of noisy time stamps lies below the base by the noise's amplitude. Two signs
    must agree. A base that sinks by less than half of what the RTT fell by was pulled down by one
    stamp, not by a queue that drains: twice, and stamps are noisy. RTTs that go up and down by
    turns tell by how much: a zigzag is the smaller of two changes of different sign, 0 if the sign
    stays. Their mean with gain 1/256 lifts T `noise` times, if it is above `gate`.
Jitter. RTTs that go up and down by 1 us and more are no queue's: a zigzag of that size counts 4, an
    acknowledgement without one -1. From a count of `jitter` on, the law hears the least of the last
    32 to 64 RTTs, less `allow`, for all of them.
Coalescing. What a receiver holds back is in flight, too: acknowledgements of more than a packet
    widen the window by twice what they have more. The pace stays. One of more than two packets
    counts as four, for a round is to end at last, and gives no packet to a step of the ramp.
Youth. A rack's T and qs are small; flows of other pods, whose qs are larger, leave its flows little
    of a link. A flow that has sent less than `young` packets aims as if its T were not below
    `reach`, the largest base RTT of the network, but above by as much. 0: it is not known.
Marks. An RTT does not tell the way back from the way out. Where switches mark from a queueing delay
    `marks` on, a packet that none has marked met no such queue. What its RTT has above half as much
    again is of the way back: the law hears T and `clear` instead. 0: switches do not mark.

Windows have 8 fraction bits; s and cap are parts of T. The constants were found in floats, on
incasts of 5 to 200 senders and on 2, 32 and 256 long flows over one 100 Gb/s switch. Those of
lift, noise, jitter, youth, marks and small windows were found in integers, on what `precog study
laws` calls tuned.
"""

from .language import (
    FACTOR,
    Field,
    Fmt,
    Parameter,
    Q,
    Record,
    clamp,
    fraction,
    reciprocal,
    rounded,
    rsqrt,
    scale,
    wrap,
    zeros,
)
from .library import bytes_over, rate_over, upper
from .lockstep_signs import (
    BLOCK_AT,
    CALM,
    JOLTS_AT,
    JOLTS_BITS,
    LOW_BITS,
    LOW_MASK,
    NEWS,
    PSN_BITS,
    PSN_MASK,
    SINKS,
    SINKS_AT,
    TURN_BITS,
    TURN_MAX,
    startled,
    turn,
)

__all__ = ["PARAMETERS", "STATE", "WINDOWED"]

_WINDOW = Q(24, 8, signed=False)
_SMALL = Q(16, 8, signed=False)
_COUNT = Q(8, 0, signed=False)
_SUM = Q(28, 0, signed=False)
_LIFT = Q(8, 0, signed=False)
_AGE_BITS = 15
_AGE = Q(_AGE_BITS, 0, signed=False)
_ZIGZAG = Q(10, 8, signed=False)  # a mean of 1023 at most
_REFERENCE_US = 4.177  # base RTT of the network in which s and cap were found

PARAMETERS = (
    Parameter("g", FACTOR, "", 0.25, "gain of the fine control"),
    Parameter("s", Q(0, 24, signed=False), "", 0.034 / _REFERENCE_US, "qs for rho = 1, part of T"),
    Parameter("cap", FACTOR, "", 1.0 / _REFERENCE_US, "qs at most, part of T"),
    Parameter("slack", _SMALL, "us", 0.4, "queueing delay above 2 qs that is too much"),
    Parameter("floor", Q(15, 8), "us", -0.3, "least of qs - q that the fine control hears"),
    Parameter("stretch", Fmt.RTT, "us", 1.0, "greatest queueing delay in the pacing rate"),
    Parameter("most", FACTOR, "", 0.3, "largest step of the ramp, part of W"),
    Parameter("small", FACTOR, "", 0.6, "step of a window below one packet"),
    Parameter("add", FACTOR, "", 0.12, "what such a window gains, part of what it lacks"),
    Parameter("slip", _COUNT, "", 32, "rounds from one slip to the next; 0: none"),
    Parameter("watch", _COUNT, "", 64, "rounds in which T is checked; 0: it is not"),
    Parameter("spare", Fmt.RTT, "us", 0.03, "queueing delay that the least mean may have"),
    Parameter("rise", _LIFT, "us", 0.06, "greatest lift of T"),
    Parameter("jitter", _COUNT, "", 12, "count of jolts from which on RTTs have jitter"),
    Parameter("allow", Fmt.RTT, "us", 1.0, "what the least RTT may be above T then"),
    Parameter("gate", _ZIGZAG, "us", 0.045, "mean zigzag above which time stamps are noisy"),
    Parameter("noise", Q(8, 8, signed=False), "", 2.7, "lift of T then, in mean zigzags"),
    Parameter("reach", Fmt.RTT, "us", 0.0, "largest base RTT of the network", fact="network_base"),
    Parameter("young", _AGE, "", 1024, "packets that a flow sends while it is young"),
    Parameter(
        "marks",
        Fmt.RTT,
        "us",
        0.0,
        "queueing delay from which switches mark; 0: they do not",
        fact="mark_delay",
    ),
    Parameter("clear", Fmt.RTT, "us", 0.05, "queueing delay for a long RTT without a mark"),
)
STATE = (
    Field("w", _WINDOW, "window, bytes; 0: not started"),
    Field("w0", _WINDOW, "window of the round before the last"),
    Field("w1", Q(47, 0, signed=False), "window of the last round, 32 bits; first PSN, 15"),
    Field(
        "round",
        Q(47, 0, signed=False),
        "PSN behind which the round ends, 24 bits; the lowest of the last base, 10; times that "
        "noise pulled that down, 2; jolts, 5; acknowledgements of the block, 6",
    ),
    Field(  # a bit is spare: the count is masked then, and an integer to the float reference
        "tally",
        Q(23, 0, signed=False),
        "acknowledgements of the round that met less than 0.6 qs, 8 bits; rounds in a row that "
        "found the link idle, 2; what the count began with, 4; acknowledgements of the round, "
        "counted from there, 8",
    ),
    Field("current", Fmt.RTT, "least RTT of the present block of 8, with jitter of 32"),
    Field("previous", Fmt.RTT, "least RTT of the block before"),
    Field(
        "rounds",
        Q(47, 0, signed=False),
        "rounds of which `least` is the least, 8 bits; ticks by which T is lifted, 8; rounds since "
        "the last slip, 8; 256ths of a gap by which this one slips, 8; T of a young flow's aim, 15",
    ),
    Field("mean", Q(33, 0, signed=False), "RTTs of the present mean: sum, 28 bits, and how many"),
    Field("least", _SUM, "least sum of 16 RTTs"),
    Field("last", Fmt.RTT, "RTT of the last acknowledgement, 0: there was none"),
    Field("change", Q(TURN_BITS, 0), "what it was above that before, limited"),
    Field("zigzag", _ZIGZAG, "mean zigzag"),
)
WINDOWED = True

_ONE = FACTOR.one
_NONE = Fmt.RTT.max
_T_MIN = 16
_ROUND = 16
_FEW = 11  # eight packets, with 8 fraction bits
_COALESCED = 4  # counts an acknowledgement of more than two packets
_COUNT_BITS = 8
_COUNT_MAX = _COUNT.max
# Of `tally`.
_LEVEL_AT = 8
_LEVEL_BITS = 2
_LEVEL_MAX = 3
_AHEAD_AT = 10
_AHEAD_BITS = 4
_TOLD_AT = 14
_TOLD = 1 << _TOLD_AT
_TALLY_MAX = (1 << 22) - 1
_AHEAD = _TOLD + (1 << _AHEAD_AT)  # counted, but not acknowledged
_HALF = _ROUND // 2
_PAIR_AHEAD = _ROUND - 2
# Of `mean` and `least`.
_MEAN_AT = 28
_MEAN = 16
_SUM_MAX = _SUM.max
# Of `rounds`.
_LIFT_AT = 8
_SLIPS_AT = 16
_SLOWER_AT = 24
_SLOWER_MASK = 255 << _SLOWER_AT
_REACH_AT = 32
_REACH_MAX = (1 << 15) - 1
# Of `w1`.
_FIRST_AT = 32
_IDLE = 27962027  # 5/3, with 24 fraction bits
_RAMP = (838861, 2516582, 7549747, _ONE)  # .05, .15, .45, 1
_HALF_PSN = 1 << 23
_NEAR = 1 << 25
_BYTES_MAX = (1 << 24) - 1


def _ages(p: Record, s: Record, e: Record) -> None:
    """A flow that has sent enough is young no more."""
    if wrap(e.seq - (s.w1 >> _FIRST_AT), _AGE_BITS) >= p.young:
        s.rounds = wrap(s.rounds, _REACH_AT)


def _aim(p: Record, w: int, bdp: int, t: int) -> int:
    """qs, ticks with 8 fraction bits."""
    rho = fraction(w, bdp)
    part = (p.s * rsqrt(rho)) >> (20 - (zeros(rho) >> 1))
    return rounded(t * min(part, p.cap), 16)


def _begin(p: Record, s: Record, e: Record) -> None:
    """A new round; jitter's blocks outlast it."""
    s.round = upper(s.round, PSN_BITS) + e.next
    if wrap(s.round >> JOLTS_AT, JOLTS_BITS) < p.jitter:
        s.current = _NONE
        s.previous = _NONE
        s.round = wrap(s.round, BLOCK_AT)


def _beyond(p: Record, q: int) -> int:
    """More than qs where q > hi."""
    return (q - p.slack) >> 1


def _grown(q: int) -> int:
    """Less than qs where q < 0.6 qs."""
    return (q * _IDLE) >> 24


def _note(s: Record, weight: int, idle: bool) -> int:
    """Count an acknowledgement; how many there are. Up to 255, no more met less than 0.6 qs."""
    count = wrap(s.tally >> _TOLD_AT, _COUNT_BITS) + weight
    if count <= _COUNT_MAX:
        if idle:
            s.tally = min(s.tally + weight * (_TOLD + 1), _TALLY_MAX)
        else:
            s.tally = min(s.tally + weight * _TOLD, _TALLY_MAX)
        return count
    idles = wrap(s.tally, _COUNT_BITS)
    if idle:
        idles = min(idles + weight, _COUNT_MAX)
    rest = wrap(s.tally >> _LEVEL_AT, _LEVEL_BITS + _AHEAD_BITS)
    s.tally = _COUNT_MAX * _TOLD + (rest << _LEVEL_AT) + idles
    return _COUNT_MAX


def _goes_on(s: Record, count: int) -> bool:
    """The first part of a small window's round is over, and has met a queue: the rest follows."""
    ahead = wrap(s.tally >> _AHEAD_AT, _AHEAD_BITS)
    if ahead < _HALF or wrap(s.tally, _COUNT_BITS) + ahead >= count:
        return False
    s.tally = max(s.tally - _HALF * _AHEAD, 0)
    return True


def _average(s: Record, rtt: int) -> None:
    """Keep the least mean of 16 RTTs, and a tick. In a branch, the usual path loads no `least`."""
    if s.mean >= (_MEAN - 1) << _MEAN_AT:
        s.least = min(s.least, wrap(s.mean, _MEAN_AT) + rtt + 1)
        s.mean = 0
    else:
        s.mean = s.mean + rtt + (1 << _MEAN_AT)


def _watch(p: Record, s: Record, w: int, bdp: int, t: int) -> int:
    """Lift T once in `watch` rounds, by a limit that a twelfth to an eighth of the link raises."""
    lift = wrap(s.rounds >> _LIFT_AT, _COUNT_BITS)
    watched = min(wrap(s.rounds, _COUNT_BITS) + 1, _COUNT_MAX)
    limit = scale(p.rise, clamp(24 * fraction(w, bdp) - 2 * _ONE, 0, _ONE))
    if p.watch > 0 and watched >= p.watch:
        lift = max((s.least >> 4) - (t - lift) - p.spare, 0)
        watched = 0
        s.least = _SUM_MAX
    if limit == 0:
        watched = 0
        s.least = _SUM_MAX
    return (min(lift, limit) << _LIFT_AT) + watched


def _slip(p: Record, s: Record, e: Record) -> int:
    """One round in `slip` is slower, by a part that the time of its beginning draws."""
    rounds = min(wrap(s.rounds >> _SLIPS_AT, _COUNT_BITS) + 1, _COUNT_MAX)
    slower = 0
    if p.slip > 0 and rounds >= p.slip:
        rounds = 0
        slower = wrap(e.now, _COUNT_BITS)
    return (slower << _SLOWER_AT) + (rounds << _SLIPS_AT)


def _ended(
    p: Record, s: Record, count: int, least: int, w: int, bdp: int, t: int, qs: int, packet: int
) -> int:
    """The window at the end of a round of `count`; the tally keeps the level alone."""
    idle = wrap(s.tally, _COUNT_BITS)
    level = wrap(s.tally >> _LEVEL_AT, _LEVEL_BITS)
    count = max(count - wrap(s.tally >> _AHEAD_AT, _AHEAD_BITS), 1)
    s.tally = 0
    if _beyond(p, (least - t) << 8) > qs:
        return min(w, scale(s.w0, fraction((t << 8) + qs, least << 8)))
    if 5 * idle >= 3 * count:
        s.tally = min(level + 1, _LEVEL_MAX) << _LEVEL_AT
        share = fraction(max(2 * idle - count, 0), count)
        step = min(scale(bdp, _RAMP[level]), max(scale(w, p.most), packet))
        return min(w + scale(step, share), bdp)
    return min(w, bdp)


def _share(p: Record, t: int, room: int) -> int:
    """Fine control: what to add to the window, part of g and of what is acknowledged."""
    y = reciprocal(t)
    part = (min(max(room, p.floor), _NEAR) * y) >> (32 - zeros(t))
    return clamp(part, -_ONE, _ONE)


def _below_packet(p: Record, rtt: int, w: int, t: int, qs: int, packet: int) -> int:
    """What a window of less than a packet becomes."""
    rtt = rtt << 8
    near = (t << 8) + qs
    wanted = w + scale(w, fraction(max(near - rtt, 0), rtt))
    if near < rtt:
        wanted = scale(w, fraction(near, rtt))
    wanted = wanted + scale(packet - w, p.add)
    return w + scale(wanted - w, p.small)


def _paced(p: Record, e: Record, slower: int, rtt: int, w: int, t: int) -> int:
    """Rate of a window."""
    time = clamp(rtt, t, t + p.stretch)
    rate = rate_over(w, time)
    if slower == 0:
        return max(min(rate, e.max_rate), e.min_rate)
    rate = clamp(rate, e.min_rate, e.max_rate)
    part = min(fraction(slower * e.mtu, w), _ONE >> 1)
    return max(rate - scale(rate, part), e.min_rate)


def _round(
    p: Record,
    s: Record,
    e: Record,
    w: int,
    slower: int,
    count: int,
    least: int,
    bdp: int,
    t: int,
    qs: int,
) -> tuple[int, int]:
    """If the packet was sent in the round, it ends: the window, and the part of the slip."""
    ahead = wrap(e.seq - s.round, PSN_BITS)
    if ahead == 0 or ahead >= _HALF_PSN:
        return w, slower
    ramp = e.mtu << 8
    if e.bytes > 2 * e.mtu:
        ramp = 0
    after = _ended(p, s, count, least, w, bdp, t, qs, ramp)
    if after < e.mtu << _FEW:
        s.tally = s.tally + _HALF * _AHEAD
    if 2 * after < 3 * e.mtu << 8:
        s.tally = s.tally + (_PAIR_AHEAD - _HALF) * _AHEAD
    s.w0 = wrap(s.w1, _FIRST_AT)
    s.w1 = upper(s.w1, _FIRST_AT) + after
    watched = _watch(p, s, after, bdp, t)
    slips = _slip(p, s, e)
    s.rounds = upper(s.rounds, _REACH_AT) + slips + watched
    _ages(p, s, e)
    _begin(p, s, e)
    return after, wrap(s.rounds >> _SLOWER_AT, _COUNT_BITS)


def _begun(p: Record, s: Record, e: Record) -> None:
    """The first acknowledgement."""
    first = max(bytes_over(e.init_rate, clamp(e.base, _T_MIN, _NONE)), 1)
    s.w = first
    s.w0 = first
    s.w1 = (wrap(e.seq, _AGE_BITS) << _FIRST_AT) + first
    ahead = max(p.reach - e.base, 0)
    s.rounds = min(p.reach + ahead, _REACH_MAX) << _REACH_AT
    s.least = _SUM_MAX
    s.current = e.rtt
    s.previous = _NONE
    s.last = e.rtt
    base = wrap(e.base, LOW_BITS) << PSN_BITS
    s.round = (1 << BLOCK_AT) + base + wrap(e.seq - 1, PSN_BITS)
    if p.jitter == 0:
        s.round = s.round + (1 << JOLTS_AT)


def _seldom(
    p: Record, s: Record, e: Record, rtt: int, bdp: int, lowest: int, t: int, qs: int
) -> tuple[int, int]:
    """A window of whole packets, not the usual way: what to act on, and the part of a slip."""
    q = (rtt - t) << 8
    much = _beyond(p, q) > qs
    w = s.w
    weight = 1
    if e.bytes > 2 * e.mtu:
        weight = _COALESCED
    count = _note(s, weight, _grown(q) < qs)
    slower = wrap(s.rounds >> _SLOWER_AT, _COUNT_BITS)
    least = min(s.current, s.previous)
    if wrap(s.round >> JOLTS_AT, JOLTS_BITS) >= p.jitter:
        least = rtt
    if much or (count >= _ROUND and not _goes_on(s, count)):
        w, slower = _round(p, s, e, w, slower, count, least, bdp, t, qs)
    if not much:
        step = min(min(e.bytes, _BYTES_MAX) << 8, w)
        held = clamp(w + scale(scale(step, _share(p, t, qs - q)), p.g), lowest, bdp)
        s.w = max(held, 1)
        return held, slower
    w = clamp(w, lowest, bdp)
    s.w = max(w, 1)
    return min(w, max(scale(s.w0, fraction((t << 8) + qs, rtt << 8)), lowest)), slower


def _decided(p: Record, s: Record, e: Record, rtt: int, t: int) -> tuple[int, int]:
    """Rate and window."""
    bdp = max(bytes_over(e.max_rate, t), 1)
    lowest = (e.min_rate * t) >> 16  # more than a window can be is more than `bdp`
    q = (rtt - t) << 8
    qs = _aim(p, s.w, bdp, max(t, s.rounds >> _REACH_AT))
    packet = e.mtu << 8
    if s.w < packet:
        _average(s, e.rtt)
        slower = 0
        held = clamp(_below_packet(p, rtt, s.w, t, qs, packet), lowest, bdp)
        s.w = max(held, 1)
        s.w0 = held
        s.w1 = upper(s.w1, _FIRST_AT) + held
        s.tally = _PAIR_AHEAD * _AHEAD
        s.rounds = upper(s.rounds, _REACH_AT) + wrap(s.rounds, _SLOWER_AT)
        _ages(p, s, e)
        _begin(p, s, e)
    elif _beyond(p, q) <= qs and e.bytes <= e.mtu and s.tally < (_ROUND - 1) * _TOLD:
        _average(s, e.rtt)
        if _grown(q) < qs:
            s.tally = s.tally + (_TOLD + 1)
        else:
            s.tally = s.tally + _TOLD
        share = rounded(e.bytes * _share(p, t, qs - q), 16)
        held = clamp(s.w + scale(share, p.g), lowest, bdp)
        s.w = max(held, 1)
        if s.rounds & _SLOWER_MASK == 0:
            rate = rate_over(held, clamp(rtt, t, t + p.stretch))
            return max(min(rate, e.max_rate), e.min_rate), max(held, 1 << 8) >> 8
        slower = wrap(s.rounds >> _SLOWER_AT, _COUNT_BITS)
    else:
        _average(s, e.rtt)
        held, slower = _seldom(p, s, e, rtt, bdp, lowest, t, qs)
    sent = min(e.bytes, _BYTES_MAX) << 8
    more = 0
    if sent > packet:
        more = (sent - packet) >> 7
    return _paced(p, e, slower, rtt, held, t), max(held >> 8, 1) + more


def _outward(p: Record, e: Record, t: int) -> int:
    """The RTT without what a packet waited on its way back, as far as marks tell."""
    # The first comparison, one instruction, is of 0 marks, too.
    if e.marked < p.marks and e.marked == 0 and e.rtt > t + p.marks + (p.marks >> 1):
        return min(e.rtt, t + p.clear)
    return e.rtt


def on_ack(p: Record, s: Record, e: Record) -> tuple[int, int]:
    """One acknowledgement."""
    if e.bytes == 0:
        return e.rate, e.window
    t = max(e.base + wrap(s.rounds >> _LIFT_AT, _COUNT_BITS), _T_MIN)
    rtt = _outward(p, e, t)
    if s.w == 0:
        _begun(p, s, e)
    else:
        last = s.last
        base = wrap(e.base, LOW_BITS) << PSN_BITS
        both = turn(s, e.rtt - last)
        s.last = e.rtt
        if both < TURN_MAX and s.round & NEWS == base:
            s.current = min(s.current, rtt)
            s.round = (s.round & (CALM + LOW_MASK + PSN_MASK)) + (1 << BLOCK_AT)
            rate, window = _decided(p, s, e, rtt, t)
            return rate, window
        startled(p, s, e, rtt, last, base, both)
    if s.round & (SINKS << SINKS_AT) > 0 and s.zigzag > p.gate:
        t = t + ((s.zigzag * p.noise) >> 16)
    if wrap(s.round >> JOLTS_AT, JOLTS_BITS) >= p.jitter:
        rtt = max(min(s.current, s.previous) - p.allow, t)
    rate, window = _decided(p, s, e, rtt, t)
    return rate, window
