"""NSCC, Ultra Ethernet's sender-based control, after SMaRTT (UEC 1.0; arXiv 2404.01630).

Two signals: the mark and the queueing delay, against a target. No mark and a long delay: fair
increase. No mark and a short one: proportional increase, or, after a window without delay, fast
increase. A mark and a long delay: decrease by the mean excess, once a round trip. A mark and a
short one: nothing. Quick adapt: when the delay passes 4 targets or packets are lost, and little
came through in the last round, the window becomes what came through.

Defaults: the public simulator, uet-htsim commit 40ccb05 ``uec.cpp`` (initNsccParams and
updateCwndOnAck_NSCC, without trimming), which scales them by BDP / (100 Gb/s * 12 us). Switches
mark from 0.2 to 0.8 BDP, as its ``main_uec.cpp`` does. Windows alone limit: no pacing.
"""

PARAMETERS = (
    ("target_rtts", "float", "base RTTs", 1.0, "target of the queueing delay; 0.75 with trimming"),
    ("reference_bdp", "float", "bytes", 150_000.0, "100 Gb/s times 12 us, for scaling"),
    ("reference_us", "float", "us", 12.0, "its RTT"),
    ("alpha", "float", "packets", 4.0, "proportional increase"),
    ("fair", "float", "packets", 5.0, "fair increase"),
    ("eta", "float", "packets", 0.15, "increase a round trip, whatever is signalled"),
    ("fast", "float", "", 0.25, "fast increase, of the bytes acknowledged"),
    ("idle_us", "float", "us", 1.0, "delay below which there is fast increase"),
    ("gamma", "float", "", 0.8, "decrease for the mean excess"),
    ("max_cut", "float", "", 0.5, "largest decrease"),
    ("delay_gain", "float", "", 0.0125, "of the mean delay"),
    ("adapt_targets", "float", "", 4.0, "delay over the target at which quick adapt acts"),
    ("adapt_gate", "float", "", 0.125, "... if less than this part of the largest window came"),
    ("most", "float", "BDPs", 1.5, "largest window"),
    ("adjust_packets", "int", "packets", 8, "bytes after which increases are added"),
)

STATE = (
    ("size", "float", "window, bytes; what is in force lets packets start that fit in it whole"),
    ("target", "float", "of the queueing delay"),
    ("scale", "float", "BDP over the reference's"),
    ("mean_delay", "float", "smoothed queueing delay"),
    ("increase", "float", "bytes * bytes, to be added over the window"),
    ("received", "float", "bytes since increases were added"),
    ("achieved", "float", "bytes that came through in this round"),
    ("idle_bytes", "float", "bytes without delay in a row"),
    ("fast_now", "int", "fast increase goes on"),
    ("cut_at", "float", "time of the last decrease"),
    ("adjusted_at", "float", "time of the last eta"),
    ("adapt_at", "float", "end of the round that quick adapt looks at"),
    ("adapt_wanted", "int", "packets were lost"),
    ("ignore", "float", "bytes whose marks are still ignored after quick adapt"),
)

WINDOWED = True
MARKING_BDP = (0.2, 0.8, 1.0)


def bounded(p, s, e):
    """Bound the window; line rate, and what may be in flight."""
    s.size = min(max(s.size, float(e.mtu)), p.most * e.max_rate * e.base)
    return e.max_rate, max(s.size - e.mtu + 1, 1.0)


def on_start(p, s, e):
    """A new flow has the largest window."""
    s.size = p.most * e.max_rate * e.base
    s.target = p.target_rtts * e.network_base
    s.scale = e.max_rate * e.network_base / p.reference_bdp
    s.cut_at = -1e18
    s.adjusted_at = e.now
    return bounded(p, s, e)


def mean(p, s, e, delay, marked):
    """Follow the delay. A long one without a mark is another path's: a quarter of the base RTT."""
    seen = delay
    if not marked and delay > s.target:
        seen = 0.25 * e.base
    s.mean_delay += p.delay_gain * (seen - s.mean_delay)


def quick_adapt(p, s, e, delay, lost):
    """Shrink to what came through in the last round; 1: nothing else is to be done."""
    done = 0
    if s.ignore > 0 and (e.marked or lost):
        done = 1
    elif e.now > s.adapt_at:
        wanted = lost or s.adapt_wanted or delay > p.adapt_targets * s.target
        gate = p.adapt_gate * p.most * e.max_rate * e.base
        if s.adapt_at != 0 and wanted and s.achieved < gate:
            s.size = max(s.achieved, float(e.mtu))
            s.ignore = float(e.next - e.seq)
            s.adapt_wanted = 0
            done = 1
        s.achieved = 0.0
        s.adapt_at = e.now + e.base + s.target
    if done:
        s.increase = 0.0
        s.received = 0.0
    return done


def proportional(p, s, e, delay):
    """Increase by the distance to the target; fast after a window without delay."""
    if delay < 1e3 * p.idle_us:
        s.idle_bytes += e.bytes
        if s.idle_bytes > s.size or s.fast_now:
            s.size += e.bytes * p.fast * s.scale
            s.fast_now = 1
            return
    else:
        s.idle_bytes = 0.0
    s.fast_now = 0
    gain = p.alpha * e.mtu * s.scale / (1e3 * p.reference_us)
    s.increase += gain * e.bytes * (s.target - delay)


def decrease(p, s, e):
    """Cut by the mean excess of the delay, once a round trip."""
    s.fast_now = 0
    s.idle_bytes = 0.0
    if s.mean_delay > s.target and e.now - s.cut_at > e.base:
        excess = (s.mean_delay - s.target) / s.mean_delay
        s.size *= max(1 - p.gamma * excess, 1 - p.max_cut)
        s.cut_at = e.now


def on_ack(p, s, e):
    """The four cases of mark and delay."""
    delay = e.rtt - e.base
    mean(p, s, e, delay, e.marked)
    s.achieved += e.bytes
    s.received += e.bytes
    s.ignore -= e.bytes
    if not quick_adapt(p, s, e, delay, 0):
        if not e.marked and delay >= s.target:
            s.increase += p.fair * e.mtu * s.scale * e.bytes
        elif not e.marked:
            proportional(p, s, e, delay)
        elif delay >= s.target:
            decrease(p, s, e)
        bounded(p, s, e)
        late = e.now - s.adjusted_at > e.network_base
        if late or s.received > p.adjust_packets * e.mtu:
            s.size += s.increase / s.size
            if e.now - s.adjusted_at >= e.network_base:
                s.size += p.eta * e.mtu * s.scale
                s.adjusted_at = e.now
            s.increase = 0.0
            s.received = 0.0
    return bounded(p, s, e)


def on_loss(p, s, e):
    """Quick adapt, or one packet less."""
    s.ignore -= e.mtu
    s.adapt_wanted = 1
    mean(p, s, e, e.base + e.network_base, 1)
    if not quick_adapt(p, s, e, 0.0, 1):
        s.size -= e.mtu
    return bounded(p, s, e)
