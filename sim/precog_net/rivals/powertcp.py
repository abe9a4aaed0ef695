"""PowerTCP: control by power, the product of current and voltage (NSDI 2022, algorithm 1).

Per hop, of telemetry: voltage = queue + b T, current = arrival rate = sent / dt + dq / dt; power is
their product over b * b T, of the hop with the most. It is smoothed over a base RTT T; the rate is
gamma (R / power + beta) + (1 - gamma) R with R the rate of a round trip ago, the window rate * T.

Defaults: the authors' simulator, inet-tub/ns3-datacenter commit 6ddb4a4: ``rdma-hw.cc``
(UpdateRatePower: gamma 0.9, eta 0.95, 150 Mb/s) and ``tcp-advanced.cc`` (the arrival term is at
least half of the line). `eta` = 1 and `floor` = 0 give the publication's algorithm.
"""

PARAMETERS = (
    ("gamma", "float", "", 0.9, "weight of the new rate"),
    ("eta", "float", "", 0.95, "target of the power"),
    ("beta_mbps", "float", "Mb/s", 150.0, "additive increase"),
    ("floor", "float", "", 0.5, "least current, over the line rate"),
)

STATE = (
    ("started", "int", "an acknowledgement has come"),
    ("power", "float", "smoothed"),
    ("base_rate", "float", "the rate that was in force a round trip ago"),
    ("last", "float", "per hop: time, bytes sent, queue", (5, 3)),
)

WINDOWED = True
TELEMETRY = "int"
HEADER = 90  # 42 bytes of telemetry, as under HPCC
ACK_BYTES = 88

TIME, SENT, QUEUE, MBPS = 0, 1, 2, 3


def on_start(p, s, e):
    """A new flow believes in power 1."""
    s.power = 1.0
    s.base_rate = e.rate
    return e.rate, e.rate * e.network_base


def on_ack(p, s, e, t):
    """Every acknowledgement: power, and the rate from that of a round trip ago."""
    most = 0.0
    span = 0.0
    for k in range(t.count):
        line = t.hop[k, MBPS] / 8e3
        queue = float(t.hop[k, QUEUE])
        dt = t.hop[k, TIME] - s.last[k, 0]
        if s.started and dt > 0:
            current = (t.hop[k, SENT] - s.last[k, 1] + queue - s.last[k, 2]) / dt
            current = max(current, p.floor * line)
            power = current * (queue + line * e.network_base) / (line * line * e.network_base)
            if power > most:
                most = power
                span = dt
        if dt > 0 or not s.started:
            s.last[k, 0] = t.hop[k, TIME]
            s.last[k, 1] = t.hop[k, SENT]
            s.last[k, 2] = queue
    if not s.started:
        s.started = 1
        return e.rate, e.window
    span = min(span, e.network_base)
    s.power += (most - s.power) * span / e.network_base
    wanted = s.base_rate * p.eta / max(s.power, 1e-6) + p.beta_mbps / 8e3
    rate = p.gamma * wanted + (1 - p.gamma) * s.base_rate
    rate = min(max(rate, e.min_rate), e.max_rate)
    if e.sample:
        s.base_rate = rate
    return rate, rate * e.network_base
