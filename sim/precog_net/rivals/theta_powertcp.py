"""theta-PowerTCP: PowerTCP without telemetry (NSDI 2022, algorithm 2).

Power = (d rtt / dt + 1) * rtt / T: the gradient of the RTT stands for the current, the RTT for the
voltage. It is smoothed over a base RTT T; the rate is gamma (R / power + beta) + (1 - gamma) R with
R the rate of a round trip ago, the window rate * T.

Defaults: the authors' simulator, inet-tub/ns3-datacenter commit 6ddb4a4, ``rdma-hw.cc``
(UpdateRatePower with PowerTCPdelay): gamma 0.7, 150 Mb/s, T stretched by 1.05, gradient term at
least 0.5, and a rate at every acknowledgement. `fast` = 0: one rate a round trip, as published.
"""

PARAMETERS = (
    ("gamma", "float", "", 0.7, "weight of the new rate"),
    ("beta_mbps", "float", "Mb/s", 150.0, "additive increase"),
    ("stretch", "float", "", 1.05, "T is the base RTT times this"),
    ("floor", "float", "", 0.5, "least current"),
    ("fast", "int", "", 1, "1: a rate at every acknowledgement, 0: once a round trip"),
)

STATE = (
    ("power", "float", "smoothed"),
    ("base_rate", "float", "the rate that was in force a round trip ago"),
    ("last_rtt", "float", "of the acknowledgement before"),
    ("last_t", "float", "its time"),
)

WINDOWED = True


def on_start(p, s, e):
    """A new flow believes in power 1 and in its base RTT."""
    s.power = 1.0
    s.base_rate = e.rate
    s.last_rtt = e.base
    s.last_t = e.now
    return e.rate, e.rate * e.base


def on_ack(p, s, e):
    """Smooth the power; set the rate."""
    dt = e.now - s.last_t
    if dt > 0:
        current = max((e.rtt - s.last_rtt) / dt + 1, p.floor)
        power = current * e.rtt / (p.stretch * e.base)
        s.power += (power - s.power) * min(dt, e.base) / e.base
        s.last_rtt = e.rtt
        s.last_t = e.now
    if not (e.sample or p.fast):
        return e.rate, e.window
    wanted = s.base_rate / max(s.power, 1e-6) + p.beta_mbps / 8e3
    rate = p.gamma * wanted + (1 - p.gamma) * s.base_rate
    rate = min(max(rate, e.min_rate), e.max_rate)
    if e.sample:
        s.base_rate = rate
    return rate, rate * e.base
