"""Services whose workers answer in bursts: what a NIC may learn of a destination.

A service has one host that asks and 8 to 60 that answer. Once a period, all of them or, in some
services, in two rounds of three an eighth of them send an answer to it at once. Sizes, periods,
numbers and hosts are drawn anew for each seed. The same pairs of hosts also exchange single
messages of the same range of sizes.
"""

import numpy as np

from precog_net.workloads import Traffic

__all__ = ["ANSWER", "MESSAGE", "services"]

ANSWER = "incast"
MESSAGE = "message"
_SERVICES = 4
_SIZES = (40_000, 120_000)
_WORKERS = (8, 60)
_LOADS = (0.2, 0.4)  # of the asking host's link
_LEAST_PERIOD_PS = 100e6
_PS_PER_BYTE = 80.0
_JITTER = 0.1
_PART = 8
_GAP_MS = 3.0  # mean time between single messages of a pair
_PS_PER_MS = 1e9


def services(seed: int, hosts: int, ms: float) -> tuple[Traffic, Traffic]:
    """Answers and single messages of one run."""
    rng = np.random.default_rng((seed, 21))
    answers: list[tuple[int, int, int, int]] = []
    messages: list[tuple[int, int, int, int]] = []
    for _ in range(_SERVICES):
        count = round(np.exp(rng.uniform(*np.log(_WORKERS))))
        size = round(np.exp(rng.uniform(*np.log(_SIZES))))
        chosen = rng.permutation(hosts)[: count + 1].tolist()
        whole = max(count * size * _PS_PER_BYTE / rng.uniform(*_LOADS), _LEAST_PERIOD_PS)
        cycle = int(rng.choice([1, 3]))
        now, rounds = rng.uniform(0, whole), 0
        while now < ms * _PS_PER_MS:
            asked = chosen[1:] if rounds % cycle == 0 else chosen[1 : 1 + max(count // _PART, 1)]
            answers += [(int(now), src, chosen[0], size) for src in asked]
            now += whole * (1 + rng.uniform(-_JITTER, _JITTER))
            rounds += 1
        for src in chosen[1:]:
            now = rng.exponential(_GAP_MS * _PS_PER_MS)
            while now < ms * _PS_PER_MS:
                each = round(np.exp(rng.uniform(*np.log(_SIZES))))
                messages.append((int(now), src, chosen[0], each))
                now += rng.exponential(_GAP_MS * _PS_PER_MS)
    return _traffic(answers, ANSWER), _traffic(messages, MESSAGE)


def _traffic(rows: list[tuple[int, int, int, int]], kind: str) -> Traffic:
    start, src, dst, size = np.array(rows, dtype=np.int64).reshape(-1, 4).T
    return Traffic(start, src, dst, size, (kind,) * len(rows))
