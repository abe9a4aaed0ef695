"""Bits of weight and state memories of the Verilated NIC are inverted while traffic flows.

*Single* errors of stored words, one in a pair: each is corrected within a pass of the scrubber, and
afterwards every memory holds what was loaded. *Double* errors of a pair: the set is disabled within
`detection_bound` cycles, and its queue pairs run the base law. Errors of the *state* of queue
pairs, which has no check bits: a queue pair that is cleared decides as the golden NIC does. In all
of it every sample gets its decision within `answer_bound` cycles, and every rate lies between the
lowest and the highest of its queue pair.
"""

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from precog_host.device import Device
from precog_host.emulator.device import Emulator
from precog_hw.predict.layouts import Sizes
from precog_models.predict.ecc import guard
from precog_models.predict.lstm import pack, unpack
from precog_sim.rtl.library import NicLibrary
from precog_sim.rtl.memories import RtlMemory, rtl_memories, schedule_faults
from precog_sim.rtl.stimulus import model_image
from precog_sim.rtl.transport import RtlTransport
from precog_spec.config import NicConfig
from precog_spec.contract import (
    CONTRACT_HASH,
    DECISION_FIELDS,
    HEADER_OFFSET,
    IMAGE_BYTES,
    Algorithm,
    Flag,
    HeadKind,
)
from precog_spec.law_fields import PSCHED_EVENTS, EventKind
from precog_spec.secded import STORED_BITS, guarded_pairs

__all__ = ["STATES", "Faults", "Found"]

Ints = NDArray[np.int64]

#: Memories of what the NIC knows of a queue pair; its configuration is none of them.
STATES = (
    "core.feature.states",
    "core.feature.base.states",
    "core.predictor.engine.sequencer.tags",
    "core.predictor.engine.sequencer.history",
    "core.predictor.engine.cell.state_",
    "core.psched.rows",
    "core.rate.adjuster.states",
    "core.rate.judged.rows",
    "core.rate.pid.states",
    "core.rate.skill.rows",
)

_NAMES = [name for name, _ in DECISION_FIELDS]
_FLAGS = _NAMES.index("flags")
_CHUNK = 16  # samples between two looks at a set
_PASSES = 2  # until every pair has been read since
_AFTER = 24  # samples that are compared with the golden NIC after a clear
_QUEUED = 26  # samples that may be in the NIC at once
_LAWS = (Algorithm.PREDPID, Algorithm.PREDPID, Algorithm.PID, Algorithm.PID)


@dataclass
class Found:
    """What a campaign found. Everything but counts of what was done and latencies must be 0."""

    flips: dict[str, int] = field(default_factory=lambda: {"single": 0, "double": 0, "state": 0})
    memories: dict[str, int] = field(default_factory=dict)  #: bits of state, by memory
    decisions: int = 0
    out_of_bounds: int = 0
    not_corrected: int = 0
    not_disabled: int = 0
    parted: int = 0  #: double errors between the reads of their two words: corrected one by one
    followed: int = 0  #: decisions that used a model after its set was disabled
    not_recovered: int = 0  #: decisions after a clear that the golden NIC makes otherwise
    answer_cycles: int = 0  #: the longest
    answer_bound: int = 0
    detection_cycles: int = 0  #: the longest, from a double error to the set's end
    detection_bound: int = 0
    scrubbed_pairs: int = 0

    @property
    def holds(self) -> bool:
        """Nothing is wrong."""
        wrong = self.out_of_bounds, self.not_corrected, self.not_disabled, self.followed
        within = self.answer_cycles <= self.answer_bound
        return (
            not any(wrong)
            and not self.not_recovered
            and within
            and (self.detection_cycles <= self.detection_bound)
        )


class Faults:
    """A NIC with traffic whose bits flip.

    Parameters
    ----------
    nic : NicLibrary
        Of `config`; fresh.
    config : NicConfig
        With `ecc`, 4 queue pairs or more.
    seed : int

    Attributes
    ----------
    found : Found
    """

    def __init__(self, nic: NicLibrary, config: NicConfig, seed: int) -> None:
        self.nic, self.config = nic, config
        self.found = Found()
        self._rng = np.random.default_rng(seed)
        self.device = Device(RtlTransport(nic))
        self._golden = Emulator(config)
        self._memories = rtl_memories(nic)
        self._words = [m for m in self._memories.values() if m.bits == STORED_BITS]
        self._time = 0
        self._places = [self._find_words(number) for number in range(config.sets)]
        self._images = [self._image() for _ in range(config.sets)]
        golden = Device(self._golden)
        for number, image in enumerate(self._images):
            self._load(number)
            golden.model.write_set(number, image)
            golden.model.map_slot(number, number)
        self._bounds = np.zeros((config.qps, 2), dtype=np.int64)
        for qp in range(config.qps):
            self._configure(qp)
        self.device.registers.write_fields("ECC", "CONTROL", enable=1, period=0)
        # Of a pair: two reads that each wait for the end of a sample's slots, and a correction,
        # which waits for four samples in flight.
        sizes = Sizes(config)
        mac = 16 // sizes.ways * sizes.turns
        turn = 16 // config.columns + mac + 40
        whole = config.steps * (config.steps + 1) // 2 * turn  # a context that is computed anew
        pair = 2 * (config.steps * 16 // config.columns + 30)
        found = self.found
        found.detection_bound = (len(guarded_pairs()) * config.sets + 1) * pair + 4 * whole + 200
        found.answer_bound = _QUEUED * whole + 4 * (4 * whole + 200)

    # --- models ----------------------------------------------------------------------------------

    def _image(self) -> bytes:
        """Of a random model with one input and one output."""
        weights = unpack(model_image(self._rng, "random", self.config.steps))
        wx, wl, bl, sh_l = (getattr(weights, n).copy() for n in ("wx", "wl", "bl", "sh_l"))
        wx[:, 1:] = wl[1:] = bl[1:] = sh_l[1:] = 0
        changes = {"wx": wx, "wl": wl, "bl": bl, "sh_l": sh_l, "inputs": 1, "outputs": 1}
        return pack(replace(weights, **changes, steps=self.config.steps, kind=HeadKind.RTT))

    def _payload(self) -> bytes:
        """Of random words: the hardware checks nothing but the header."""
        header = (
            bytes([1, self.config.steps, 1, 0]) + bytes(4) + CONTRACT_HASH.to_bytes(4, "little")
        )
        return self._rng.bytes(HEADER_OFFSET) + header + bytes(IMAGE_BYTES - HEADER_OFFSET - 12)

    def _load(self, number: int) -> None:
        self.device.model.write_set(number, self._images[number])
        self.device.model.map_slot(number, number)

    def _find_words(self, number: int) -> dict[tuple[int, int, int], tuple[RtlMemory, int]]:
        """Where each stored word of a set lies: by its content, after a load of random words."""
        payload = self._payload()
        self.device.model.write_set(number, payload)
        words = np.frombuffer(payload, dtype="<u4").astype(np.int64)
        place_of = {word: divmod(n, 16) for n, word in enumerate(guard(words).tolist())}
        found = {}
        for memory in self._words:
            for index, value in enumerate(memory.values().tolist()):
                if value and value in place_of:
                    row, word = place_of[value]
                    found[int(".drain." in memory.name), row, word] = memory, index
        expected = {
            (second, row, 2 * pair + n) for second, row, pair in guarded_pairs() for n in (0, 1)
        }
        if set(found) != expected:
            raise ValueError(
                f"stored words of set {number} must be found in the RTL's memories: "
                f"{len(found)} of {len(expected)} are"
            )
        return found

    def _damaged(self, number: int) -> int:
        """Stored words of a set that differ from its image."""
        words = guard(np.frombuffer(self._images[number], dtype="<u4")).reshape(32, 16)
        contents = {memory.number: memory.values() for memory in self._words}
        return sum(
            int(contents[memory.number][index] != words[row, word])
            for (_, row, word), (memory, index) in self._places[number].items()
        )

    # --- traffic ---------------------------------------------------------------------------------

    def _configure(self, qp: int) -> None:
        """On both NICs: a law, bounds of its own, and scores that move its rate."""
        low, init, high = np.sort(self._rng.integers(1 << 10, 1 << 31, 3)).tolist()
        fields = {
            **{"enable": 1, "algorithm": int(_LAWS[qp % len(_LAWS)]), "target_mode": 0},
            **{"rttch": 1, "win": 0, "model_enable": 1, "model_slot": qp % self.config.sets},
            **{"target": 6000 << 8, "min_rate": low, "init_rate": init, "max_rate": high},
            **{"psched": qp & 1, "sla_priority": 0, "sla_latency": 0},
        }
        for device in (self.device, Device(self._golden)):
            device.qp(qp).apply(fields)
        self._bounds[qp] = low, high

    def _samples(self, n: int) -> Ints:
        rng = self._rng
        t = self._time + np.cumsum(rng.integers(200, 3000, n))
        self._time = int(t[-1])
        rtt = rng.integers(3000, 12000, n)
        return np.stack([rng.integers(0, self.config.qps, n), rtt, t], axis=1).astype(np.int64)

    def _events(self, n: int, samples: Ints) -> Ints:
        """Time and scores, at times of the samples'."""
        rng = self._rng
        kinds = rng.choice(np.array(PSCHED_EVENTS), n)
        value = np.where(kinds == EventKind.SCORE, rng.integers(0, 101, n), 0)
        t = np.sort(rng.choice(samples[:, 2], n))
        return np.stack([kinds, rng.integers(0, self.config.qps, n), t, value], axis=1)

    def _run(self, n: int) -> Ints:
        """Decisions on `n` samples at random times, checked."""
        rng = self._rng
        idle, stall = rng.choice(np.array([0.0, 0.5, 0.95])), rng.choice(np.array([0.0, 0.3]))
        run = self.nic.batch(
            self._samples(n), seed=int(rng.integers(1 << 32)), idle=float(idle), stall=float(stall)
        )
        longest = self.found.answer_cycles, int(run.latency.max())
        self.found.answer_cycles = max(longest)
        self._check(run.decisions)
        return run.decisions

    def _run_mixed(self, n: int) -> None:
        """As `_run`, with events between the samples."""
        samples = self._samples(n)
        seed = int(self._rng.integers(1 << 32))
        made = self.nic.mixed(
            samples, self._events(n // 2, samples), seed=seed, sample=0.1, event=0.1, stall=0.1
        )
        answered = int((made[:, _FLAGS] >> Flag.EVENT & 1 == 0).sum())
        if answered != n:
            raise RuntimeError(f"every sample must make one decision: {answered} of {n} do")
        self._check(made)

    def _check(self, decisions: Ints) -> None:
        bounds = self._bounds[decisions[:, 0]]
        rate = decisions[:, 1]
        self.found.decisions += len(decisions)
        self.found.out_of_bounds += int(((rate < bounds[:, 0]) | (rate > bounds[:, 1])).sum())

    def _counters(self) -> dict[str, int]:
        assert self.device.ecc is not None
        return self.device.ecc.state().counters

    def _passes(self) -> None:
        """Until the scrubber has read all words since now."""
        wanted = self._counters()["passes"] + _PASSES
        for _ in range(_PASSES * self.found.detection_bound // 500):
            if self._counters()["passes"] >= wanted:
                return
            self.nic.idle(500)
        raise RuntimeError("the scrubber must walk on, it stands")

    # --- faults ----------------------------------------------------------------------------------

    def _flips(self, number: int, pair: int, bits: Ints, cycle: int) -> list[list[int]]:
        """Faults in bits 0..71 of a pair of a set."""
        second, row, which = guarded_pairs()[pair]
        faults = []
        for bit in bits.tolist():
            word, place = divmod(bit, STORED_BITS)
            memory, index = self._places[number][second, row, 2 * which + word]
            faults.append([memory.number, index, place, cycle])
        return faults

    def single(self, count: int) -> None:
        """`count` single errors in different pairs while traffic flows."""
        rng, sets = self._rng, self.config.sets
        before = self._counters()
        chosen = rng.choice(len(guarded_pairs()) * sets, count, replace=False)
        faults: list[list[int]] = []
        for one in chosen.tolist():
            number, pair = divmod(one, len(guarded_pairs()))
            bits = rng.integers(0, 2 * STORED_BITS, 1)
            faults += self._flips(number, pair, bits, int(rng.integers(1, 4000)))
        schedule_faults(self.nic, np.array(faults))
        self._run(96)
        self.nic.idle(4000)
        self._passes()
        found, after = self.found, self._counters()
        found.flips["single"] += count
        found.not_corrected += abs(after["corrected"] - before["corrected"] - count)
        found.not_corrected += sum(self._damaged(number) for number in range(sets))
        found.not_disabled += after["uncorrectable"] - before["uncorrectable"]
        found.scrubbed_pairs += after["scrubbed"] - before["scrubbed"]

    def double(self) -> None:
        """A double error in each set while traffic flows; the sets are loaded again."""
        rng, found, sets = self._rng, self.found, range(self.config.sets)
        registers = self.device.registers
        before = self._counters()
        faults: list[list[int]] = []
        struck = int(rng.integers(1, 2000))
        apart = []
        for number in sets:
            bits = rng.choice(2 * STORED_BITS, 2, replace=False)
            apart.append(bool((bits < STORED_BITS).sum() == 1))
            faults += self._flips(number, int(rng.integers(len(guarded_pairs()))), bits, struck)
        begin = self.nic.cycles
        schedule_faults(self.nic, np.array(faults))
        self.nic.idle(struck // 2)
        waiting = set(sets)
        while waiting and self.nic.cycles - begin - struck <= 2 * found.detection_bound:
            self._run(_CHUNK)
            for number in sorted(waiting):
                if not registers.entry("MODEL", "SETS", number, "SET_STATE")["valid"]:
                    waiting.discard(number)
                    cycles = self.nic.cycles - begin - struck
                    found.detection_cycles = max(found.detection_cycles, cycles)
        after = self._counters()
        found.flips["double"] += 2 * len(sets)
        for number in waiting:
            parted = apart[number] and not self._damaged(number)
            found.parted += parted
            found.not_disabled += not parted
        lost = after["uncorrectable"] - before["uncorrectable"]
        found.not_disabled += abs(lost - (len(sets) - len(waiting)))
        gone = [n for n in sets if n not in waiting]
        for number in gone:
            disabled = registers.entry("ECC", "SETS", number, "SET_ERRORS")["disabled"]
            mapped = registers.entry("MODEL", "SLOTS", number, "SLOT")["enable"]
            found.not_disabled += int(mapped or not disabled)
        made = self._run(2 * _CHUNK)
        of_gone = np.isin(made[:, 0] % self.config.sets, gone)
        used = made[:, _FLAGS] >> Flag.PREDICTED & 1
        found.followed += int((of_gone & (used == 1)).sum()) + int(made[of_gone, 3].any())
        for number in gone:
            self._load(number)
        self._passes()
        found.not_corrected += sum(self._damaged(number) for number in sets)

    def state(self, count: int) -> None:
        """`count` errors in the state of queue pairs while traffic flows; then they are cleared."""
        rng, found = self._rng, self.found
        memories = [
            memory
            for memory in self._memories.values()
            if any(f".{name}" in memory.name for name in STATES)
        ]
        sizes = np.array([memory.bits * memory.depth for memory in memories])
        # Small memories are hit as often as large ones: each part of the state.
        which = rng.integers(0, len(memories), count)
        at = (rng.random(count) * sizes[which]).astype(np.int64)
        faults = [
            [memories[m].number, *divmod(place, memories[m].bits), int(rng.integers(1, 5000))]
            for m, place in zip(which.tolist(), at.tolist(), strict=True)
        ]
        found.memories = {memory.name: int(n) for memory, n in zip(memories, sizes, strict=True)}
        schedule_faults(self.nic, np.array(faults))
        self._run(48)
        self._run_mixed(48)
        self.nic.idle(5000)
        self._run(16)
        found.flips["state"] += count
        golden = Device(self._golden)
        for qp in range(self.config.qps):
            self.device.qp(qp).clear()
            golden.qp(qp).clear()
        samples = self._samples(_AFTER)
        got = self.nic.batch(samples).decisions
        found.not_recovered += int((got != golden.decide(samples)).any(axis=1).sum())
        self._check(got)
