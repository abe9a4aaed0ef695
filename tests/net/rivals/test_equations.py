"""Each rival's update equations against its source's, computed by hand.

A law program is plain Python, so the functions run here as they stand; `test_programs` shows that
their compiled forms do the same.
"""

from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from precog_net.rivals import dcqcn_barre, hpcc_pint, nscc, powertcp, swift, theta_powertcp

_LINE = 12.5  # bytes per ns: 100 Gb/s
_BASE = 4000.0  # ns


def _start(
    law: ModuleType, preset: str = "", **values: float
) -> tuple[SimpleNamespace, SimpleNamespace, SimpleNamespace]:
    """State, parameters and event of a new flow at line rate, after on_start."""
    p = SimpleNamespace(**{row[0]: row[3] for row in law.PARAMETERS})
    vars(p).update(law.PRESETS[preset][1] if preset else {}, **values)
    s = SimpleNamespace()
    for name, _, _, *shape in law.STATE:
        setattr(s, name, np.zeros(shape[0]) if shape else 0)
    e = SimpleNamespace(
        rate=_LINE,
        window=_LINE * _BASE,
        max_rate=_LINE,
        min_rate=0.0125,
        base=_BASE,
        network_base=_BASE,
        mtu=1000,
        header=48,
        hops=1,
        flow=0,
        now=0.0,
        rtt=0.0,
        bytes=0,
        marked=0,
        sample=0,
        seq=0,
        next=50_000,
        timeout=0,
    )
    e.due = [0.0, 0.0, 0.0]
    begun = law.on_start(p, s, e)
    e.rate, e.window = begun if isinstance(begun, tuple) else (begun, 0.0)
    return s, p, e


def _ack(law: ModuleType, s: Any, p: Any, e: Any, *told: Any, **words: Any) -> None:
    vars(e).update({"marked": 0, "sample": 0, "bytes": 1000, **words})
    e.rate, e.window = law.on_ack(p, s, e, *told)


def test_swift_rises_by_ai_packets_a_window_below_its_target() -> None:
    """Algorithm 1, line 6: cwnd += ai / cwnd * acked, packets; ai = 1, cwnd = 50."""
    s, p, e = _start(swift)
    assert s.size == 50_000
    _ack(swift, s, p, e, now=1e4, rtt=10_000.0)
    assert s.size == pytest.approx(50_020)
    assert e.window == pytest.approx(49_021)  # one more packet may start when all of it fits
    assert e.rate == _LINE  # a window above a packet is not paced


def test_swift_falls_by_the_excess_once_a_round_trip() -> None:
    """Line 9: cwnd *= max(1 - beta (delay - target) / delay, 1 - max_mdf)."""
    s, p, e = _start(swift)
    # fs_range / (1/sqrt(0.1) - 1/sqrt(100)) = 100 / (3.16228 - 0.1) us; times (1/sqrt(50) - 0.1)
    scaling = 100e3 / (10**0.5 - 0.1) * (50**-0.5 - 0.1)
    goal = 20e3 + 3053 + scaling
    assert swift.target(p, s, e) == pytest.approx(goal)
    _ack(swift, s, p, e, now=1e5, rtt=30e3)
    assert s.size == pytest.approx(50_000 * (1 - 0.8 * (30e3 - goal) / 30e3))
    held = s.size
    _ack(swift, s, p, e, now=1.2e5, rtt=30e3)  # 20 us later: less than a round trip
    assert s.size == held
    _ack(swift, s, p, e, now=1.2e6, rtt=1e6)  # the excess asks for 78 %; half is the most
    assert s.size == pytest.approx(held / 2)


def test_swift_paces_below_one_packet() -> None:
    """Section 3.3: a window of w < 1 packets is a packet each rtt / w."""
    s, p, e = _start(swift)
    s.size = 200.0
    _ack(swift, s, p, e, now=1e5, rtt=10e3)
    assert s.size == pytest.approx(1200)  # below a packet: += ai * acked
    s.size = 200.0
    s.rtt = 10e3
    e.rate, e.window = swift.bounded(p, s, e)
    assert e.window == 1.0
    assert 1048 / e.rate == pytest.approx(10e3 * 1000 / 200)


def test_swift_gives_up_after_timeouts_in_a_row() -> None:
    s, p, e = _start(swift)
    vars(e).update(now=1e6, timeout=0)
    swift.on_loss(p, s, e)
    assert s.size == 25_000
    vars(e).update(timeout=1)
    for _ in range(5):
        swift.on_loss(p, s, e)
    assert s.size == 100  # min_window = 0.1 packets


def test_swift_scaled_aims_at_the_paths_own_base() -> None:
    s, p, e = _start(swift, "scaled")
    s.size = 50.0  # below fs_min: all of the flow scaling
    assert swift.target(p, s, e) == pytest.approx(_BASE + 100 + 200)
    s.size = 200_000.0  # beyond fs_max: none
    assert swift.target(p, s, e) == pytest.approx(_BASE + 100)


def _hop(time: int, sent: int, queue: int, mbps: int = 100_000) -> SimpleNamespace:
    return SimpleNamespace(count=1, hop=np.array([[time, sent, queue, mbps]] * 5))


def test_powertcp_divides_by_power_over_eta() -> None:
    """Power = (dq/dt + sent/dt) (q + b T) / (b b T); half of T has passed: smoothed by 1/2."""
    s, p, e = _start(powertcp)
    _ack(powertcp, s, p, e, _hop(1000, 0, 0), now=1000.0, rtt=_BASE)
    assert e.rate == _LINE  # the first one is only stored
    _ack(powertcp, s, p, e, _hop(3000, 25_000, 10_000), now=3000.0, rtt=_BASE)
    current = (25_000 + 10_000) / 2000
    power = current * (10_000 + _LINE * _BASE) / (_LINE * _LINE * _BASE)
    smooth = 0.5 * 1 + 0.5 * power
    wanted = 0.9 * (_LINE * 0.95 / smooth + 0.15 / 8) + 0.1 * _LINE
    assert e.rate == pytest.approx(wanted)
    assert e.window == pytest.approx(wanted * _BASE)
    assert s.base_rate == _LINE  # moves with a sample only
    _ack(powertcp, s, p, e, _hop(5000, 50_000, 10_000), now=5000.0, rtt=_BASE, sample=1)
    assert s.base_rate == e.rate


def test_powertcp_falls_before_the_queue_has_grown() -> None:
    """The voltage alone is 1; a queue that grows at half the line rate makes the power 1.5."""
    s, p, e = _start(powertcp, eta=1.0, floor=0.0, beta_mbps=0.0, gamma=1.0)
    _ack(powertcp, s, p, e, _hop(0, 0, 0), now=0.0, rtt=_BASE)
    _ack(powertcp, s, p, e, _hop(4000, 50_000, 25_000), now=4000.0, rtt=_BASE)
    assert s.power == pytest.approx(1.5 * 1.5)


def test_theta_powertcp_sees_the_gradient() -> None:
    """Power = (drtt/dt + 1) rtt / (1.05 T), at least half of the line; smoothed by dt / T."""
    s, p, e = _start(theta_powertcp)
    _ack(theta_powertcp, s, p, e, now=2000.0, rtt=5000.0)
    power = (1000 / 2000 + 1) * 5000 / (1.05 * _BASE)
    smooth = 0.5 + 0.5 * power
    assert e.rate == pytest.approx(0.7 * (_LINE / smooth + 0.15 / 8) + 0.3 * _LINE)
    s.power = 1.0
    _ack(theta_powertcp, s, p, e, now=6000.0, rtt=4000.0)  # -1000 / 4000 + 1 = 0.75
    assert s.power == pytest.approx(0.75 / 1.05)
    _ack(theta_powertcp, s, p, e, now=7000.0, rtt=1000.0)  # -3000 / 1000 + 1 < 0.5
    assert s.power == pytest.approx(0.75 * 0.75 / 1.05 + 0.25 * 0.5 * 0.25 / 1.05)


def test_theta_powertcp_as_published_acts_once_a_round_trip() -> None:
    s, p, e = _start(theta_powertcp, fast=0)
    _ack(theta_powertcp, s, p, e, now=2000.0, rtt=5000.0)
    assert e.rate == _LINE
    _ack(theta_powertcp, s, p, e, now=3000.0, rtt=5000.0, sample=1)
    assert e.rate < _LINE


def test_nscc_has_the_four_cases_of_mark_and_delay() -> None:
    """uec.cpp: fair, proportional, decrease, nothing; scale = 12.5 * 4000 / 150000 = 1/3."""
    scale = 1 / 3

    def fresh() -> tuple[Any, Any, Any]:
        s, p, e = _start(nscc)
        s.size = 40_000.0
        s.adapt_at = 1e9  # quick adapt is far
        s.adjusted_at = 1e9
        return s, p, e

    s, p, e = fresh()
    assert s.target == _BASE
    _ack(nscc, s, p, e, now=1e4, rtt=_BASE + 5000)  # no mark, a long delay: fair
    assert s.increase == pytest.approx(5 * 1000 * scale * 1000)
    s, p, e = fresh()
    _ack(nscc, s, p, e, now=1e4, rtt=_BASE + 2000)  # no mark, a short one: proportional
    assert s.increase == pytest.approx(4 * 1000 * scale / 12e3 * 1000 * 2000)
    s, p, e = fresh()
    s.mean_delay = 8000.0
    _ack(nscc, s, p, e, now=1e4, rtt=_BASE + 8000, marked=1)  # a mark and a long one: decrease
    assert s.size == pytest.approx(40_000 * (1 - 0.8 * 0.5))
    s, p, e = fresh()
    _ack(nscc, s, p, e, now=1e4, rtt=_BASE + 2000, marked=1)  # a mark and a short one: nothing
    assert (s.size, s.increase) == (40_000, 0)


def test_nscc_adds_its_increases_over_the_window() -> None:
    """After 8 packets: size += increase / size; eta more, once a round trip."""
    s, p, e = _start(nscc)
    s.size = 40_000.0
    s.adapt_at = 1e9
    s.increase = 4e6
    s.received = 8000.0
    s.adjusted_at = 0.0
    _ack(nscc, s, p, e, now=_BASE + 1, rtt=_BASE + 2000, marked=1)
    assert s.size == pytest.approx(40_000 + 4e6 / 40_000 + 0.15 * 1000 / 3)
    assert (s.increase, s.received) == (0, 0)


def test_nscc_quick_adapt_shrinks_to_what_came_through() -> None:
    """The delay passes 4 targets and less than 1/8 of the largest window came: size = that."""
    s, p, e = _start(nscc)
    assert s.size == 75_000
    s.adapt_at = 1.0
    s.achieved = 3000.0
    _ack(nscc, s, p, e, now=1e4, rtt=_BASE + 17_000, marked=1)
    assert s.size == 4000
    assert s.ignore == 50_000  # what is in flight is not held against it once more
    _ack(nscc, s, p, e, now=1.1e4, rtt=_BASE + 17_000, marked=1)
    assert s.size == 4000


def test_nscc_increases_fast_after_a_window_without_delay() -> None:
    s, p, e = _start(nscc)
    s.size = 3000.0
    s.adapt_at = 1e9
    s.adjusted_at = 1e9
    for _ in range(3):
        _ack(nscc, s, p, e, now=1e4, rtt=_BASE)
    assert s.size == 3000
    _ack(nscc, s, p, e, now=1e4, rtt=_BASE)
    assert s.size == pytest.approx(3000 + 1000 * 0.25 / 3)


def test_hpcc_pint_acts_on_the_coded_utilisation() -> None:
    """U = 1.05^c / 1000; c = 141 is 0.97, which is 1.02 of eta."""
    s, p, e = _start(hpcc_pint)
    told = SimpleNamespace(count=1, hop=np.array([[141, 0, 0, 0]]))
    _ack(hpcc_pint, s, p, e, told, now=1.0, rtt=_BASE)
    assert e.rate == _LINE
    _ack(hpcc_pint, s, p, e, told, now=2.0, rtt=_BASE)
    load = 1.05**141 / 1000 / 0.95
    assert e.rate == pytest.approx(_LINE / load + 0.04 / 8)
    assert s.base_rate == _LINE
    _ack(hpcc_pint, s, p, e, told, now=3.0, rtt=_BASE, sample=1)
    assert s.base_rate == pytest.approx(_LINE / load + 0.04 / 8)


def test_hpcc_pint_reads_its_share_of_the_acknowledgements() -> None:
    s, p, _ = _start(hpcc_pint, share=1 / 16)
    read = sum(hpcc_pint.read(p, s) for _ in range(16_000))
    assert 900 < read < 1100


def test_dcqcn_barre_cuts_little_and_recovers_towards_its_target() -> None:
    """Table 2: at least 90 % are left; a timer of 50 us; one round of fast recovery, then 14 Mb/s,
    hyper increase once both counts are above 1."""
    s, p, e = _start(dcqcn_barre)
    e.now = 1000.0
    e.rate = dcqcn_barre.on_cnp(p, s, e)  # alpha = 1 would halve it
    assert e.rate == pytest.approx(0.9 * _LINE)
    assert e.due[:2] == [2000.0, 51_000.0]
    e.rate = dcqcn_barre.on_cnp(p, s, e)  # nothing has risen: the target stays
    assert (e.rate, s.target) == (pytest.approx(0.81 * _LINE), _LINE)
    vars(e).update(timer=0, now=2000.0)
    assert dcqcn_barre.on_timer(p, s, e) == e.rate
    vars(e).update(timer=0, now=3000.0)
    dcqcn_barre.on_timer(p, s, e)
    assert s.alpha == pytest.approx(1 - 1 / 256)  # one update heard a notification, one did not
    s.target = 10.0
    vars(e).update(timer=1, now=51_000.0, rate=9.0)
    e.rate = dcqcn_barre.on_timer(p, s, e)
    assert (e.rate, s.target) == (9.5, 10.0)
    e.rate = dcqcn_barre.on_timer(p, s, e)
    assert s.target == pytest.approx(10.0 + 14 / 8000)
    for _ in range(2):
        e.bytes = 32767
        e.rate = dcqcn_barre.on_send(p, s, e)
    assert s.target == pytest.approx(10.0 + 3 * 14 / 8000)
    dcqcn_barre.on_send(p, s, e)
    assert s.target == pytest.approx(10.0 + (3 * 14 + 50) / 8000)
    s.alpha = 0.1
    assert dcqcn_barre.on_cnp(p, s, e) == pytest.approx(0.95 * e.rate)
    assert s.target == e.rate
