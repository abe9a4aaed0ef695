"""One bandwidth-delay product, at least one MTU."""

from precog_models.rate.window import window_bytes
from precog_spec.contract import Fmt


def test_bandwidth_delay_product() -> None:
    rate = Fmt.RATE.from_float(12.5)  # 100 Gb/s at 1 ns
    assert window_bytes(rate, 4175, 1000) == 52187
    assert window_bytes(Fmt.RATE.max, Fmt.RTT.max, 1) == (Fmt.RATE.max * Fmt.RTT.max) >> 24


def test_at_least_one_mtu() -> None:
    assert window_bytes(0, 4175, 1000) == 1000
    assert window_bytes(1 << 24, 999, 1000) == 1000
    assert window_bytes(1 << 24, 1001, 1000) == 1001
