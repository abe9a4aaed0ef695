"""Lockstep: a phase-locked window on the RTTs of all acknowledgements; no marks, no telemetry.

    T   = base RTT + lift + noise,  BDP = link * T,  rho = W / BDP,  q = RTT - T
    qs  = T min(s rho**-1/2, cap)                          queueing delay to aim at
    hi  = 2 qs + slack
    a round ends after >= 16 acknowledgements of packets sent in it, or when q > hi:
        qr = least q of its last 8..16 acknowledgements
        qr > hi                    W = min(W, W0 (T + qs) / (T + qr))
        q < 0.6 qs for >= 0.6      W += min(ramp BDP, max(most W, packet)) (2 share - 1)
                                   ramp .05, .15, .45, 1
        W0 = W of the round before: the window with which acknowledged packets were sent
    each acknowledgement of b bytes with q <= hi:  W += g min(b, W) max(qs - q, -floor) / T
    with q > hi, for this acknowledgement alone:   min(W, W0 (T + qs) / RTT)
    window = W + 2 (b - packet), rate = W / RTT, RTT limited to T .. T + stretch

Pacing by the last RTT is what locks flows to each other's gaps: a packet that met a queue makes its
successors later.

Six additions keep the lock from doing harm:

Small windows. Below one packet an acknowledgement comes once in several round trips, and rounds
    lose their meaning. There W moves by the part `small` to W (T + qs) / RTT + add (packet - W).
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

Windows have 8 fraction bits; s and cap are parts of T. The constants were found in floats, on
incasts of 5 to 200 senders and on 2, 32 and 256 long flows over one 100 Gb/s switch. Those of
lift, noise, jitter and small windows were found in integers, on what `precog study laws` calls
tuned.
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
    rsqrt,
    scale,
    wrap,
    zeros,
)
from .library import bytes_over, rate_over

__all__ = ["PARAMETERS", "STATE", "WINDOWED"]

_WINDOW = Q(24, 8, signed=False)
_SMALL = Q(16, 8, signed=False)
_COUNT = Q(8, 0, signed=False)
_SUM = Q(28, 0, signed=False)
_LIFT = Q(8, 0, signed=False)
_PAIR = Q(16, 0, signed=False)
_ZIGZAG = Q(9, 8, signed=False)
_REFERENCE_US = 4.177  # base RTT of the network in which s and cap were found

PARAMETERS = (
    Parameter("g", FACTOR, "", 0.25, "gain of the fine control"),
    Parameter("s", Q(0, 24, signed=False), "", 0.034 / _REFERENCE_US, "qs for rho = 1, part of T"),
    Parameter("cap", FACTOR, "", 1.0 / _REFERENCE_US, "qs at most, part of T"),
    Parameter("slack", _SMALL, "us", 0.4, "queueing delay above 2 qs that is too much"),
    Parameter("floor", _SMALL, "us", 0.3, "greatest excess that the fine control hears"),
    Parameter("stretch", Fmt.RTT, "us", 1.0, "greatest queueing delay in the pacing rate"),
    Parameter("most", FACTOR, "", 0.3, "largest step of the ramp, part of W"),
    Parameter("small", FACTOR, "", 0.6, "step of a window below one packet"),
    Parameter("add", FACTOR, "", 0.1, "what such a window gains, part of what it lacks"),
    Parameter("slip", _COUNT, "", 32, "rounds from one slip to the next; 0: none"),
    Parameter("watch", _COUNT, "", 64, "rounds in which T is checked; 0: it is not"),
    Parameter("spare", Fmt.RTT, "us", 0.03, "queueing delay that the least mean may have"),
    Parameter("rise", _LIFT, "us", 0.06, "greatest lift of T"),
    Parameter("jitter", _COUNT, "", 12, "count of jolts from which on RTTs have jitter"),
    Parameter("allow", Fmt.RTT, "us", 1.0, "what the least RTT may be above T then"),
    Parameter("gate", _ZIGZAG, "us", 0.045, "mean zigzag above which time stamps are noisy"),
    Parameter("noise", Q(8, 8, signed=False), "", 2.7, "lift of T then, in mean zigzags"),
)
STATE = (
    Field("w", _WINDOW, "window, bytes; 0: not started"),
    Field("w0", _WINDOW, "window of the round before the last"),
    Field("w1", _WINDOW, "window of the last round"),
    Field(
        "reference",
        Q(35, 0, signed=False),
        "the round ends behind it, 24 bits; above: the last change of RTT, limited, signed",
    ),
    Field(
        "tally",
        Q(18, 0, signed=False),
        "acknowledgements of the round, 8 bits; those that met less than 0.6 qs, 8; rounds in a "
        "row that found the link idle, 2",
    ),
    Field("current", Fmt.RTT, "least RTT of the present block of 8, with jitter of 32"),
    Field("previous", Fmt.RTT, "least RTT of the block before"),
    Field("slips", _PAIR, "rounds since the last slip; above: 256ths of a gap by which it slips"),
    Field("total", Q(32, 0, signed=False), "RTTs of the present mean: sum, and below it how many"),
    Field("least", _SUM, "least sum of 16 RTTs"),
    Field("lifted", _PAIR, "rounds of which it is the least; above: ticks by which T is lifted"),
    Field(
        "last",
        Q(47, 0, signed=False),
        "RTT of the last acknowledgement, 24 bits, 0: there was none; the lowest of its base, 10; "
        "times that noise pulled that down, 2; jolts, 5; acknowledgements of the block, 6",
    ),
    Field("zigzag", _ZIGZAG, "mean zigzag"),
)
WINDOWED = True

_ONE = FACTOR.one
_NONE = Fmt.RTT.max
_SUM_MAX = _SUM.max
_TALLY_MAX = (1 << 18) - 1
_TOTAL_MAX = (1 << 32) - 1
_T_MIN = 16
_RHO_MIN = 1678  # 1e-4
_ROUND = 16
_COALESCED = 4  # counts an acknowledgement of more than two packets
_COUNT_BITS = 8
_COUNT_MAX = _COUNT.max
_LEVEL_MAX = 3
_LEVEL_AT = 16
_RTT_BITS = 24
_LOW_BITS = 10
_SINKS_AT = 34
_SINKS_BITS = 2
_SINKS = 2
_JOLTS_AT = 36
_JOLTS_BITS = 5
_JOLT = 4
_BLOCK_AT = 41
_HALF_LOW = 1 << (_LOW_BITS - 1)
_LOW_MASK = ((1 << _LOW_BITS) - 1) << _RTT_BITS
_SINKS_MASK = ((1 << _SINKS_BITS) - 1) << _SINKS_AT
_JOLTS_MASK = ((1 << _JOLTS_BITS) - 1) << _JOLTS_AT
_BLOCK_MASK = 31 << _BLOCK_AT
_BLOCK = 8
_LONG_BLOCK = 32
_PSN_BITS = 24
_TURN_BITS = 11
_TURN_MAX = 1023
_ZIGZAG_MAX = _ZIGZAG.max
_RAMP = (838861, 2516582, 7549747, _ONE)  # .05, .15, .45, 1
_HALF_PSN = 1 << 23
_NEAR = 1 << 25
_BYTES_MAX = (1 << 24) - 1
_MEAN_BITS = 4


def _aim(p: Record, w: int, bdp: int, t: int) -> int:
    """qs, ticks with 8 fraction bits."""
    rho = max(fraction(w, bdp), _RHO_MIN)
    part = (p.s * rsqrt(rho)) >> (20 - (zeros(rho) >> 1))
    return scale(t << 8, min(part, p.cap))


def _begin(p: Record, s: Record, e: Record) -> None:
    """A new round; jitter's blocks outlast it."""
    s.reference = ((s.reference >> _PSN_BITS) << _PSN_BITS) + e.next
    if wrap(s.last >> _JOLTS_AT, _JOLTS_BITS) < p.jitter:
        s.current = _NONE
        s.previous = _NONE
        s.last = wrap(s.last, _BLOCK_AT)


def _note(s: Record, weight: int, q: int, qs: int) -> int:
    """Count an acknowledgement; how many there are. Never more of them met less than 0.6 qs."""
    count = wrap(s.tally, _COUNT_BITS) + weight
    if count <= _COUNT_MAX:
        if 5 * q < 3 * qs:
            s.tally = min(s.tally + weight * (1 + (1 << _COUNT_BITS)), _TALLY_MAX)
        else:
            s.tally = min(s.tally + weight, _TALLY_MAX)
        return count
    idles = wrap(s.tally >> _COUNT_BITS, _COUNT_BITS)
    if 5 * q < 3 * qs:
        idles = min(idles + weight, _COUNT_MAX)
    s.tally = ((s.tally >> _LEVEL_AT) << _LEVEL_AT) + (idles << _COUNT_BITS) + _COUNT_MAX
    return _COUNT_MAX


def _turn(s: Record, last: int, rtt: int) -> int:
    """Follow the RTT's turns; its zigzag."""
    change = clamp(rtt - last, -_TURN_MAX, _TURN_MAX)
    if last == 0:
        change = 0
    turn = s.reference >> _PSN_BITS
    if turn > _TURN_MAX:  # it fell
        both = max(min(change, (1 << _TURN_BITS) - turn), 0)
    else:
        both = max(min(-change, turn), 0)
    s.zigzag = min(((s.zigzag * 255) >> 8) + both, _ZIGZAG_MAX)
    s.reference = (wrap(change, _TURN_BITS) << _PSN_BITS) + wrap(s.reference, _PSN_BITS)
    return both


def _heard(p: Record, s: Record, e: Record, rtt: int) -> tuple[int, int]:
    """Take an RTT: is the base noise's, is there jitter, what is the least. Sinks and jolts."""
    last = wrap(s.last, _RTT_BITS)
    base = wrap(e.base, _LOW_BITS) << _RTT_BITS
    status = s.last & (_JOLTS_MASK + _SINKS_MASK)
    fell = (s.last & _LOW_MASK) - base
    if fell != 0:
        fell = (fell & _LOW_MASK) >> _RTT_BITS
        sinks = status & _SINKS_MASK
        if fell < _HALF_LOW and last - rtt > 2 * fell and sinks < _SINKS << _SINKS_AT:
            status = status + (1 << _SINKS_AT)
    if status >= 1 << _JOLTS_AT:
        status = status - (1 << _JOLTS_AT)
    zigzag = _turn(s, last, rtt)
    if zigzag == _TURN_MAX:
        jolted = min((status >> _JOLTS_AT) + _JOLT + 1, (1 << _JOLTS_BITS) - 1)
        status = (jolted << _JOLTS_AT) + (status & _SINKS_MASK)
    jolts = status >> _JOLTS_AT
    block = s.last & _BLOCK_MASK
    if block == 0:
        s.previous = s.current
        s.current = rtt
    else:
        s.current = min(s.current, rtt)
    block = block + (1 << _BLOCK_AT)
    if block >= _BLOCK << _BLOCK_AT and (jolts < p.jitter or block >= _LONG_BLOCK << _BLOCK_AT):
        block = 0
    s.last = block + status + base + rtt
    return (status & _SINKS_MASK) >> _SINKS_AT, jolts


def _average(s: Record, rtt: int) -> None:
    """Keep the least mean of 16 RTTs; the count's carry is a 16th of a tick in it."""
    s.total = min(s.total + (rtt << _MEAN_BITS) + 1, _TOTAL_MAX)
    if wrap(s.total, _MEAN_BITS) == 0:
        s.least = min(s.least, s.total >> _MEAN_BITS)
        s.total = 0


def _watch(p: Record, s: Record, w: int, bdp: int, t: int) -> None:
    """Lift T once in `watch` rounds, by a limit that a twelfth to an eighth of the link raises."""
    lift = s.lifted >> _COUNT_BITS
    watched = min(wrap(s.lifted, _COUNT_BITS) + 1, _COUNT_MAX)
    limit = scale(p.rise, clamp(24 * fraction(w, bdp) - 2 * _ONE, 0, _ONE))
    if p.watch > 0 and watched >= p.watch:
        lift = max((s.least >> _MEAN_BITS) - (t - lift) - p.spare, 0)
        watched = 0
        s.least = _SUM_MAX
    if limit == 0:
        watched = 0
        s.least = _SUM_MAX
    s.lifted = (min(lift, limit) << _COUNT_BITS) + watched


def _slip(p: Record, s: Record, e: Record) -> None:
    """One round in `slip` is slower, by a part that the time of its beginning draws."""
    rounds = min(wrap(s.slips, _COUNT_BITS) + 1, _COUNT_MAX)
    slower = 0
    if p.slip > 0 and rounds >= p.slip:
        rounds = 0
        slower = wrap(e.now, _COUNT_BITS)
    s.slips = (slower << _COUNT_BITS) + rounds


def _ended(
    p: Record, s: Record, least: int, w: int, bdp: int, t: int, qs: int, hi: int, packet: int
) -> int:
    """The window at a round's end; the tally keeps the level alone."""
    count = wrap(s.tally, _COUNT_BITS)
    idle = wrap(s.tally >> _COUNT_BITS, _COUNT_BITS)
    level = s.tally >> _LEVEL_AT
    s.tally = 0
    if (least - t) << 8 > hi:
        return min(w, scale(s.w0, fraction((t << 8) + qs, least << 8)))
    if 5 * idle >= 3 * count:
        s.tally = min(level + 1, _LEVEL_MAX) << _LEVEL_AT
        share = fraction(max(2 * idle - count, 0), count)
        step = min(scale(bdp, _RAMP[level]), max(scale(w, p.most), packet))
        return min(w + scale(step, share), bdp)
    return min(w, bdp)


def _fine(p: Record, sent: int, w: int, t: int, excess: int) -> int:
    """Fine control: what to add to the window."""
    y = reciprocal(t)
    part = (-max(min(excess, p.floor), -_NEAR) * y) >> (32 - zeros(t))
    step = min(sent, w)
    return scale(scale(step, clamp(part, -_ONE, _ONE)), p.g)


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
    least: int,
    bdp: int,
    t: int,
    qs: int,
    hi: int,
) -> tuple[int, int]:
    """If the packet was sent in the round, it ends: the window, and the part of the slip."""
    ahead = wrap(e.seq - s.reference, _PSN_BITS)
    if ahead == 0 or ahead >= _HALF_PSN:
        return w, slower
    ramp = e.mtu << 8
    if e.bytes > 2 * e.mtu:
        ramp = 0
    after = _ended(p, s, least, w, bdp, t, qs, hi, ramp)
    s.w0 = s.w1
    s.w1 = after
    _watch(p, s, after, bdp, t)
    _slip(p, s, e)
    _begin(p, s, e)
    return after, s.slips >> _COUNT_BITS


def on_ack(p: Record, s: Record, e: Record) -> tuple[int, int]:
    """One acknowledgement."""
    if e.bytes == 0:
        return e.rate, e.window
    rtt = e.rtt
    sinks, jolts = _heard(p, s, e, rtt)
    slower = s.slips >> _COUNT_BITS
    t = e.base + (s.lifted >> _COUNT_BITS)
    if sinks >= _SINKS and s.zigzag > p.gate:
        t = t + ((s.zigzag * p.noise) >> 16)
    t = clamp(t, _T_MIN, _NONE)
    bdp = max(bytes_over(e.max_rate, t), 1)
    lowest = bytes_over(e.min_rate, t)
    if s.w == 0:
        first = max(bytes_over(e.init_rate, t), 1)
        s.w = first
        s.w0 = first
        s.w1 = first
        s.least = _SUM_MAX
        s.tally = 0
        s.current = rtt
        s.previous = _NONE
        s.reference = ((s.reference >> _PSN_BITS) << _PSN_BITS) + wrap(e.seq - 1, _PSN_BITS)
    _average(s, rtt)
    least = min(s.current, s.previous)
    if jolts >= p.jitter:
        least = max(least - p.allow, t)
        rtt = least
    q = (rtt - t) << 8
    qs = _aim(p, s.w, bdp, t)
    hi = 2 * qs + p.slack
    w = s.w
    packet = e.mtu << 8
    sent = min(e.bytes, _BYTES_MAX) << 8
    if w < packet:
        held = clamp(_below_packet(p, rtt, w, t, qs, packet), lowest, bdp)
        s.w = max(held, 1)
        s.w0 = held
        s.w1 = held
        s.tally = 0
        s.slips = wrap(s.slips, _COUNT_BITS)
        slower = 0
        _begin(p, s, e)
    else:
        if sent > packet and e.bytes > 2 * e.mtu:
            count = _note(s, _COALESCED, q, qs)
        else:
            count = _note(s, 1, q, qs)
        if q <= hi:
            if count >= _ROUND:
                w, slower = _round(p, s, e, w, slower, least, bdp, t, qs, hi)
            held = clamp(w + _fine(p, sent, w, t, q - qs), lowest, bdp)
            s.w = max(held, 1)
        else:
            w, slower = _round(p, s, e, w, slower, least, bdp, t, qs, hi)
            w = clamp(w, lowest, bdp)
            held = min(w, max(scale(s.w0, fraction((t << 8) + qs, rtt << 8)), lowest))
            s.w = max(w, 1)
    if sent > packet:
        more = (sent - packet) >> 7
        return _paced(p, e, slower, rtt, held, t), max(held >> 8, 1) + more
    return _paced(p, e, slower, rtt, held, t), max(held >> 8, 1)
