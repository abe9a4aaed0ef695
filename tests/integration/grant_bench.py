"""The whole NIC in grant mode beside its golden models: what goes in, the log that comes out."""

import dataclasses
import random
from collections import defaultdict, deque
from collections.abc import Iterable

import numpy as np

from precog_host.device import Device
from precog_host.driver.pacer import PacerDriver
from precog_host.driver.profiler import QueueStatus
from precog_host.emulator.device import Emulator
from precog_hw.csr.layouts import SAMPLE
from precog_hw.pace.layouts import SIZE_BITS, EventKind, grant_layout, log_layout
from precog_models.pace.pacer import State
from precog_sim.rtl.grant_nic import GrantNic
from precog_sim.rtl.stream_block import StreamRun
from precog_spec.config import NicConfig
from precog_spec.contract import QueueEvent

from ..hw.measure.queue_bench import Replay as QueueReplay
from ..hw.pace.replay import Replay
from ..hw.pace.traffic import Words

__all__ = ["OVERHEAD", "GrantBench"]

OVERHEAD = 82  # what the register has at reset


class GrantBench:
    """One NIC, the same host software on a golden device, and the golden pacer behind the log.

    Attributes
    ----------
    decided : dict of int to list of (rate, window)
        Golden decisions of each queue pair, in order.
    told : dict of int to list of (rate, window)
        What the log says that the pacer took.
    """

    def __init__(self, config: NicConfig, seed: int, nic: GrantNic) -> None:
        self.rng = random.Random(seed)
        self.config = config
        self.nic = nic
        self.emulator = Emulator(config)
        self.rtl, self.golden = Device(self.nic), Device(self.emulator)
        self.replay = Replay(config.qps, overhead=OVERHEAD)
        self.decided: dict[int, list[tuple[int, int]]] = defaultdict(list)
        self.told: dict[int, list[tuple[int, int]]] = defaultdict(list)
        self.pending: dict[str, list[tuple[int, int]]] = {
            name: [] for name in ("s_request", "s_ack", "s_sample")
        }
        self.enabled: set[int] = set()
        self.grants = self.granted_bytes = 0
        self._windows: dict[int, int] = {}
        layout = log_layout(config.qps)["commit"].shape
        self.queues = QueueReplay(config.qps)
        self._size_at = log_layout(config.qps)["size"].offset
        self._commit, self._grant = Words(layout), Words(grant_layout(config.qps))
        self._rate_at = log_layout(config.qps)["rate"].offset

    @property
    def now(self) -> int:
        """The next cycle."""
        return self.nic.block.cycles

    def close(self) -> None:
        """Free both devices."""
        self.rtl.close()
        self.golden.close()

    def pacings(self) -> tuple[PacerDriver, PacerDriver]:
        """Both devices' pacers."""
        assert self.rtl.pacer is not None
        assert self.golden.pacer is not None
        return self.rtl.pacer, self.golden.pacer

    def configure(
        self, qp: int, *, enable: bool = True, clear: bool = True, **changes: object
    ) -> None:
        """The same on both devices."""
        for device in (self.rtl, self.golden):
            device.qp(qp).configure(enable=enable, clear=clear, **changes)  # type: ignore[arg-type]
        if enable and (clear or qp not in self.enabled):
            init = self.emulator.nic.configuration(qp)["init_rate"]
            self.decided[qp].append((init, 0))
        (self.enabled.add if enable else self.enabled.discard)(qp)

    def begin(self, qp: int, **values: int) -> None:
        """Likewise."""
        for pacing in self.pacings():
            pacing.begin(qp, **values)

    def request(self, qp: int, size: int, at: int | None = None) -> None:
        """From cycle `at` on; cycles must not fall."""
        self._offer("s_request", qp, size, at)

    def acknowledge(self, qp: int, psn: int, at: int | None = None) -> None:
        """Likewise."""
        self._offer("s_ack", qp, psn, at)

    def _offer(self, name: str, qp: int, value: int, at: int | None) -> None:
        bits = self.config.qp_bits
        self.pending[name].append((self.now if at is None else at, qp | value << bits))

    def sample(self, qp: int, rtt: int, at: int | None = None) -> None:
        """An RTT sample; its stamp is the cycle."""
        at = self.now if at is None else at
        word = int(SAMPLE.const({"qp": qp, "rtt": rtt, "t": at}).as_bits())
        self.pending["s_sample"].append((at, word))

    def run(self, cycles: int, *, seed: int = 1) -> list[tuple[int, int, int, int]]:
        """Run, follow with the golden models; grants: cycle of the transfer, QP, bytes, ticks."""
        run = self.nic.run(cycles, self.pending, seed=seed)
        mask = (1 << self.config.qp_bits) - 1
        for name, kind in (("s_request", EventKind.REQUEST), ("s_ack", EventKind.ACK)):
            for word in self._taken(run, name):
                if word & mask in self.enabled:
                    asked = word & mask, word >> self.config.qp_bits
                    self.replay.asked[kind].append(asked)
        self._decide(self._taken(run, "s_sample"))
        for _, word in run.events:
            self._follow(word)
        grants = [(at, *self._grant(word, "qp", "size", "t")) for at, word in run.words]
        for _, *grant in grants:
            self.replay.grant(*grant)
            self.grants += 1
            self.granted_bytes += grant[1]
        return grants  # type: ignore[return-value]

    def _taken(self, run: StreamRun, name: str) -> list[int]:
        count = len(run.taken.get(name, ()))
        words = [word for _, word in self.pending[name][:count]]
        del self.pending[name][:count]
        return words

    def _decide(self, words: Iterable[int]) -> None:
        rows = [
            [word >> field.offset & ((1 << field.width) - 1) for _, field in SAMPLE]
            for word in words
        ]
        if rows:
            for qp, rate, window, *_ in self.emulator.decide(np.array(rows)).tolist():
                self.decided[qp].append((rate, window))

    def _follow(self, word: int) -> None:
        """One event of the log; rates and windows are the core's, connections the host's."""
        replay = self.replay
        kind, qp, argument, t, row = self._commit(word, "kind", "qp", "argument", "t", "row")
        rate = word >> self._rate_at
        if kind == EventKind.WINDOW:
            self._windows[qp] = argument
        if kind in (EventKind.WINDOW, EventKind.CONFIG):
            replay.asked[EventKind(kind)].append((qp, argument))
        if kind == EventKind.RATE and not replay.rates:
            replay.rates.append((qp, rate))
        replay.commit(kind, qp, argument, t, row)
        self._follow_queue(kind, qp, argument, t, word >> self._size_at)
        if kind == EventKind.RATE and not replay.rates:
            self.told[qp].append((rate, self._windows[qp]))

    def profile(self, *, every: int) -> None:
        """Samples of the queues by events, on both devices."""
        for device in (self.rtl, self.golden):
            assert device.profiler is not None
            device.profiler.set_parameters(every=every)
        self.queues.golden.every = every

    def _follow_queue(self, kind: int, qp: int, argument: int, t: int, size: int) -> None:
        """What an event is to the queue profiler."""
        row = self.replay.golden.rows[qp]
        if kind == EventKind.REQUEST:
            self.queues.commit(qp, QueueEvent.ARRIVAL, argument, t)
        elif kind == EventKind.GRANT and row.state is State.SENDING:
            granted = self.replay.grants[-1].size
            assert size % (1 << SIZE_BITS) == granted
            self.queues.commit(qp, QueueEvent.DEPARTURE, granted, t)
        elif kind == EventKind.CONFIG:
            self.queues.commit(qp, QueueEvent.RESET, 0, t)

    def check_queues(self, *, clear: bool = False) -> list[QueueStatus]:
        """The NIC's numbers of every queue are those of the log, and what the pacer has queued."""
        assert self.rtl.profiler is not None
        shown = []
        for qp in range(self.config.qps):
            values = self.queues.golden.read(qp, clear=clear)
            assert values["occupancy"] == self.replay.golden.rows[qp].backlog
            status = self.rtl.profiler.queue(qp, clear=clear)
            us = self.rtl.identity.tick_ps / 1e6
            for name in ("inter_arrival", "service"):
                values[f"{name}_us"] = values.pop(name) * us  # type: ignore[assignment]
            assert dataclasses.asdict(status) == {"qp": qp, **values}
            shown.append(status)
        seen, counters = self.queues.seen, self.rtl.profiler.counters()
        assert counters["events"] == seen["ARRIVAL"] + seen["DEPARTURE"]
        assert counters["samples"] == self.queues.sampled
        return shown

    def check_told(self) -> None:
        """Of each queue pair the pacer has heard some decisions, in order, and the last one."""
        assert self.told.keys() == {qp for qp, made in self.decided.items() if made}
        for qp, told in self.told.items():
            assert told[-1] == self.decided[qp][-1], qp
            left = deque(self.decided[qp])
            # A clear while a decision waits: the initial rate is told at that one's turn, too.
            once = [one for n, one in enumerate(told) if n == 0 or one != told[n - 1]]
            for one in once:
                while left and left[0] != one:
                    left.popleft()
                assert left, (qp, one)
                left.popleft()

    def check_counters(self) -> dict[str, int]:
        """The NIC's counters are those of the log."""
        seen, shown = self.replay.seen, self.pacings()[0].counters()
        told = sum(len(told) for told in self.told.values())
        expected = {
            "requests": seen["REQUEST"],
            "acks": seen["ACK"],
            "grants": self.grants,
            "granted_bytes": self.granted_bytes,
            "rates": told,
            "rates_merged": sum(len(made) for made in self.decided.values()) - told,
        }
        for name, count in expected.items():
            assert (name, shown[name]) == (name, count)
        return shown

    def rate_of(self, qp: int) -> float:
        """Bytes per tick that the last decision allows."""
        return self.decided[qp][-1][0] / (1 << 24)
