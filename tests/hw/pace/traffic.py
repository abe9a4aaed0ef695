"""Random traffic for the Verilated pacer, in pieces whose events are replayed at once."""

import random
from typing import Any

from precog_hw.pace.layouts import CONFIG, EventKind, commit_layout, grant_layout
from precog_sim.rtl.stream_block import Link, StreamBlock, StreamRun

from .replay import HOST, Replay

__all__ = ["OVERHEAD", "Bench", "Words"]

OVERHEAD = 18
_PORTS = {
    EventKind.REQUEST: "i_request",
    EventKind.ACK: "i_ack",
    EventKind.WINDOW: "i_window",
    EventKind.CONFIG: "i_config",
}
_PSNS = 1 << 24
_EDGES = (0, 1 << 18, 1 << 20, 1 << 22, 1 << 24, 5 << 24, 1 << 28, (1 << 32) - 1)


class Words:
    """Fields of the words that come out."""

    def __init__(self, layout: Any) -> None:
        self._fields = {name: (field.offset, (1 << field.width) - 1) for name, field in layout}

    def __call__(self, word: int, *names: str) -> tuple[int, ...]:
        return tuple(word >> self._fields[n][0] & self._fields[n][1] for n in names)


class Bench:
    """A pacer, its golden model, and what was offered to it and not taken yet.

    Events of chance are 2**`slow` times fewer, and their gaps as many times longer.
    """

    def __init__(
        self, block: StreamBlock, qps: int, seed: int, *, start: int = 0, slow: int = 0
    ) -> None:
        self.slow = slow
        self.rng = random.Random(seed)
        self.block, self.qps = block, qps
        self.bits = (qps - 1).bit_length()
        self.replay = Replay(qps, overhead=OVERHEAD)
        self.pending: dict[str, list[tuple[int, int]]] = {
            name: [] for name in (*_PORTS.values(), "i_rate")
        }
        self._commit, self._grant = Words(commit_layout(qps)), Words(grant_layout(qps))
        block.poke(now=start, overhead=OVERHEAD)

    def offer(self, kind: EventKind, at: int, qp: int, argument: int) -> None:
        """From cycle `at` on; cycles of one kind must not fall."""
        self.pending[_PORTS[kind]].append((at, qp | argument << self.bits))

    def set_rate(self, at: int, qp: int, rate: int) -> None:
        """Likewise."""
        self.pending["i_rate"].append((at, qp | rate << self.bits))

    def run(self, cycles: int, link: Link | None = None, *, seed: int = 1) -> StreamRun:
        """Run, and hold everything that happened against the golden model."""
        run = self.block.run(
            cycles, self.pending, sink="o_grant", monitor="commit", clock=("now", 40),
            link=link or Link(),
            seed=seed, room=cycles + 1,
        )  # fmt: skip
        mask = (1 << self.bits) - 1
        for kind, name in (*_PORTS.items(), (EventKind.RATE, "i_rate")):
            count = len(run.taken[name])
            for _, word in self.pending[name][:count]:
                asked = word & mask, word >> self.bits
                if kind is EventKind.RATE:
                    self.replay.rates.append(asked)
                else:
                    self.replay.asked[kind].append(asked)
            del self.pending[name][:count]
        for _, word in run.events:
            self.replay.commit(*self._commit(word, "kind", "qp", "argument", "t", "row"))
        for _, word in run.words:
            self.replay.grant(*self._grant(word, "qp", "size", "t"))
        return run

    def grants(self, run: StreamRun) -> list[tuple[int, int, int, int]]:
        """Cycle of the transfer, QP, bytes and time of the decision, of every grant."""
        return [(at, *self._grant(word, "qp", "size", "t")) for at, word in run.words]  # type: ignore[misc]

    def chance(self, cycles: int) -> None:
        """Offer random events for the next `cycles`, of random density."""
        rng, now = self.rng, self.block.cycles
        density = {
            EventKind.REQUEST: rng.choice([0.0, 0.01, 0.05, 0.3]),
            EventKind.ACK: rng.choice([0.02, 0.1, 0.4]),
            EventKind.WINDOW: rng.choice([0.0, 0.02]),
            EventKind.CONFIG: rng.choice([0.0, 0.0, 0.002]),
        }
        busy = rng.sample(range(self.qps), rng.choice([1, 3, min(self.qps, 40)]))
        for kind in HOST:
            if self.pending[_PORTS[kind]]:
                continue
            for at in range(now, now + cycles):
                if rng.random() < density[kind] / (1 << self.slow):
                    qp = rng.choice(busy)
                    self.offer(kind, at, qp, self._argument(kind, qp))
        density_rate = rng.choice([0.0, 0.005, 0.02])
        if not self.pending["i_rate"]:
            for at in range(now, now + cycles):
                if rng.random() < density_rate:
                    self.set_rate(at, rng.choice(busy), self.some_rate())

    def some_rate(self) -> int:
        """Mostly one whose gaps are between tens and thousands of ticks."""
        rng = self.rng
        usual = rng.randrange(1 << 22, 1 << rng.randrange(23, 30))
        usual >>= self.slow
        quick = rng.randrange(1 << 26, 1 << 28)  # its gap may end while it is made anew
        return rng.choice([usual, usual, quick, quick, rng.choice(_EDGES), rng.getrandbits(32)])

    def _argument(self, kind: EventKind, qp: int) -> int:
        rng, row = self.rng, self.replay.golden.rows[qp]
        if kind is EventKind.REQUEST:
            return rng.choice([0, 1, 64, 1024, 4097, rng.getrandbits(15), rng.getrandbits(32)])
        if kind is EventKind.ACK:
            some = (row.una + rng.randrange(4)) % _PSNS
            return rng.choice([row.next, row.next, some, rng.getrandbits(24)])
        if kind is EventKind.WINDOW:
            return rng.choice([0, 0, 1, 4096, 20_000, (1 << 32) - 1])
        config = {"priority": rng.randrange(8), "mtu": rng.randrange(8), "psn": rng.getrandbits(24)}
        config |= {"raises": rng.getrandbits(1), "boost": rng.randrange(8)}
        return int(CONFIG.const(config).as_bits())
