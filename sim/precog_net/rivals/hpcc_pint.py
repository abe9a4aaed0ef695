"""HPCC-PINT: HPCC on one byte of telemetry, the most loaded hop's utilisation (SIGCOMM 2020).

Switches keep U of each port, an EWMA over the base RTT, and a packet carries the largest of its
way, as a logarithm that is rounded at random (`pint`). The sender takes U as HPCC takes its own:
rate = base / (U / eta) + AI, or base + AI; the base moves once a round trip. A sender may read only
part of its acknowledgements.

Defaults: the HPCC authors' simulator, alibaba-edu/High-Precision-Congestion-Control commit 9f4be2a
``rdma-hw.cc`` (UpdateRateHpPint) and ``run.py``: eta 0.95, maximum stage 0, 40 Mb/s at 100 Gb/s,
every acknowledgement is read.
"""

PARAMETERS = (
    ("eta", "float", "", 0.95, "target utilisation"),
    ("max_stage", "int", "", 0, "additive increases before a multiplicative one"),
    ("ai_mbps", "float", "Mb/s", 40.0, "additive increase"),
    ("share", "float", "", 1.0, "part of the acknowledgements that are read"),
)

STATE = (
    ("started", "int", "an acknowledgement was read"),
    ("base_rate", "float", "the rate that was in force a round trip ago"),
    ("stage", "int", "additive increases in a row"),
    ("random", "int", "state of the draws"),
)

WINDOWED = True
TELEMETRY = "pint"
HEADER = 49  # one byte of telemetry
ACK_BYTES = 61

BASE, UNIT = 1.05, 1000  # a packet carries log_BASE(utilisation * UNIT), as `pint` writes it


def on_start(p, s, e):
    """A new flow has its start rate as base."""
    s.base_rate = e.rate
    s.random = e.flow + 1
    return e.rate, e.rate * e.network_base


def read(p, s):
    """Whether this acknowledgement is read: a linear congruential draw of 31 bits."""
    s.random = (s.random * 1103515245 + 12345) & 0x7FFFFFFF
    return s.random < p.share * 0x80000000


def on_ack(p, s, e, t):
    """The rate from the utilisation of the most loaded hop."""
    if not read(p, s):
        return e.rate, e.window
    if not s.started:
        s.started = 1
        return e.rate, e.window
    load = BASE ** t.hop[0, 0] / UNIT / p.eta
    stage = s.stage + 1
    if load >= 1 or s.stage >= p.max_stage:
        rate = s.base_rate / max(load, 1e-6)
        stage = 0
    else:
        rate = s.base_rate
    rate = min(max(rate + p.ai_mbps / 8e3, e.min_rate), e.max_rate)
    if e.sample:
        s.base_rate = rate
        s.stage = stage
    return rate, rate * e.network_base
