"""What a bank does on its hardware side, generated from its map; on a bench (see `side`)."""

import random

from tests.hw.csr import side
from tests.hw.csr.pins import Pins
from tests.hw.csr.register_suite import OKAY, SLVERR, Rules

from precog_spec.registers.model import Access, RegisterMap, Word

__all__ = ["SideSuite"]

_ALL = 0xFFFF_FFFF
_SNAPSHOT_CYCLES = 80  # more than any table's takes


class SideSuite:
    """The checks; each raises AssertionError.

    Parameters
    ----------
    regmap : RegisterMap
    pins : Pins
    rng : Random
    rules : Rules
    """

    def __init__(self, regmap: RegisterMap, pins: Pins, rng: random.Random, rules: Rules) -> None:
        self.regmap, self.pins, self.rng, self.rules = regmap, pins, rng, rules
        self.block = pins.block

    def run(self) -> None:
        """All checks but that of counters, which needs a bench whose counters count."""
        self.pulses()
        landing = self.w1c()
        self.loads(landing)

    def pulses(self) -> None:
        """What a write starts is up for one cycle, for nothing else, and for no refused access."""
        fields = side.places(self.regmap, Access.PULSE)
        seen: list[int] = []

        def watch(_: int) -> None:
            if value := self.block.peek("pulses"):
                seen.append(value)

        for word in self.regmap.words():
            value = self.rng.choice((_ALL, self.rng.getrandbits(32)))
            expected = sum(
                ((value & f.field.mask) >> f.field.lsb) << f.at for f in fields if f.word == word
            )
            assert self.pins.write(word.address, value, each=watch) == OKAY
            for n in range(3):  # a late strobe
                watch(n)
                self.block.tick()
            assert seen == [expected] * bool(expected), f"{word.name}: {value:#x}"
            seen.clear()
            self.pins.read(word.address, each=watch)
            if not self.rules.partial_writes:
                strobes = self.rng.randrange(15)
                assert self.pins.write(word.address, _ALL, strobes, each=watch) == SLVERR
            assert seen == [], word.name

    def w1c(self) -> int:
        """Bits are set by hardware and go by a 1; a bit that is set while it goes stays.

        Returns the cycle of a write at the end of which a register changes.
        """
        fields = side.places(self.regmap, Access.W1C)
        landing = -1
        state = self.block.peek("w1c")
        for word, _, field, at in fields:
            for bit in range(field.bits):
                port, software = 1 << at + bit, 1 << field.lsb + bit
                self._set(port)
                state |= port
                assert self.block.peek("w1c") == state, "a set bit must be up alone"
                response, value = self.pins.read(word.address)
                assert (response, value & field.mask) == (
                    OKAY,
                    self._shown(word, state) & field.mask,
                )
                others = self.rng.getrandbits(32) & ~software
                self.pins.write(word.address, 0)
                assert self.block.peek("w1c") == state, "0 must leave a bit"
                self.pins.write(word.address, others)
                state &= ~self._cleared(word, others)
                assert self.block.peek("w1c") == state, "1 must clear its bit alone"
                landing = self._clear(word, port, software, state)
                for offset in (-1, 0, 1):
                    self._collide(word, port, software, landing, offset)
                self._clear(word, port, software, self.block.peek("w1c"))
                state = self.block.peek("w1c")
        return landing

    def loads(self, landing: int) -> None:
        """Hardware loads a register's RW fields, also in the cycle in which software writes it."""
        for n, (word, register) in enumerate(side.loadable(self.regmap)):
            mask = register.mask(Access.RW)
            for _ in range(3):
                value = self.rng.getrandbits(32)
                self._load(n, value)
                response, got = self.pins.read(word.address)
                assert (response, got & mask) == (OKAY, value & mask), word.name
            for at in range(landing - 2, landing + 3):
                loaded, written = self.rng.getrandbits(32), self.rng.getrandbits(32)
                self.block.poke(load_data=loaded)
                self._write(word, written, at, "load", 1 << n)
                _, got = self.pins.read(word.address)
                wins = loaded if at >= landing else written
                assert got & mask == wins & mask, f"{word.name}, {at - landing} cycles from a write"

    def counters(self) -> None:
        """64 bits that one write keeps, of one instant in all tables, while they count; a clock's
        halves are of the low one's read. Across the low half's wrap."""
        halves: dict[str, dict[str, int]] = {}
        clocks: dict[str, dict[str, int]] = {}
        for word in self.regmap.words():
            if word.table and word.register and side.is_counters(word.table):
                entry = word.name.rpartition(".")[0]
                found = clocks if side.is_clock(word.table) else halves
                found.setdefault(entry, {})[word.register.name] = word.address
        start, began = side.COUNT_START, self.block.cycles
        self.block.poke(count=1)
        wrapped = not halves
        while not wrapped:
            before = self.block.cycles - began
            kept = self._kept(self.rng.sample(sorted(halves.values(), key=str), 8))
            after = self.block.cycles - began
            assert start + before <= kept <= start + after, f"{kept:#x}"
            wrapped = kept >> 32 > start >> 32
            for half in clocks.values():
                self._clock(half, start, began)
        self.block.poke(count=0)
        total = start + self.block.cycles - began
        if halves:
            assert self._kept(list(halves.values())) == total

    def _kept(self, halves: list[dict[str, int]]) -> int:
        """What all of these counters, which count alike, show of a snapshot, also later."""
        command = {word.name: word.address for word in self.regmap.words()}["COUNTERS.COMMAND"]
        assert self.pins.write(command, 1) == OKAY
        self.block.tick(_SNAPSHOT_CYCLES)
        shown = {self._value(half["HIGH"]) << 32 | self._value(half["LOW"]) for half in halves}
        assert len(shown) == 1, f"counters must be of one instant, not {shown}"
        return shown.pop()

    def _clock(self, half: dict[str, int], start: int, began: int) -> None:
        before = self.block.cycles - began
        low = self._value(half["LOW"])
        after = self.block.cycles - began
        self.block.tick(self.rng.choice((0, 0, 1, 40)))
        count = self._value(half["HIGH"]) << 32 | low
        assert start + before <= count <= start + after, f"{count:#x}"
        assert self._value(half["HIGH"]) == count >> 32, "only LOW may change HIGH"

    def _value(self, address: int) -> int:
        response, value = self.pins.read(address)
        assert response == OKAY
        return value

    def _set(self, port: int) -> None:
        self.block.poke(w1c_set=port)
        self.block.tick()
        self.block.poke(w1c_set=0)

    def _load(self, n: int, value: int) -> None:
        self.block.poke(load=1 << n, load_data=value)
        self.block.tick()
        self.block.poke(load=0)

    def _shown(self, word: Word, state: int) -> int:
        """W1C bits of a word as software sees them."""
        return sum(
            (state >> p.at & (1 << p.field.bits) - 1) << p.field.lsb
            for p in side.places(self.regmap, Access.W1C)
            if p.word == word
        )

    def _cleared(self, word: Word, value: int) -> int:
        """Bits of the port that writing `value` to a word clears."""
        return sum(
            ((value & p.field.mask) >> p.field.lsb) << p.at
            for p in side.places(self.regmap, Access.W1C)
            if p.word == word
        )

    def _clear(self, word: Word, port: int, software: int, state: int) -> int:
        """Clear one bit; the last cycle of the write in which it was up."""
        if not state & port:
            self._set(port)
        up: list[int] = []

        def each(cycle: int) -> None:
            if self.block.peek("w1c") & port:
                up.append(cycle)

        assert self.pins.write(word.address, software, at_once=True, each=each) == OKAY
        assert self.block.peek("w1c") == state & ~port
        assert up == list(range(len(up)))
        assert up
        return up[-1]

    def _collide(self, word: Word, port: int, software: int, landing: int, offset: int) -> None:
        """Hardware sets a bit `offset` cycles from where software's clearing lands."""
        self._set(port)
        shown = self._write(word, software, landing + offset, "w1c_set", port)
        up = [bool(value & port) for value in shown]
        assert up[-1] == (offset >= 0), f"{word.name}: set {offset} cycles from its clearing"
        # With both in one cycle it does not even fall.
        assert up[landing + 1] == (offset == 0)

    def _write(self, word: Word, value: int, at: int, port: str, level: int) -> list[int]:
        """A write without delays, with `level` at a port in cycle `at` of it; w1c in its cycles."""
        shown: list[int] = []

        def each(cycle: int) -> None:
            self.block.poke(**{port: level if cycle == at else 0})
            shown.append(self.block.peek("w1c"))

        assert self.pins.write(word.address, value, at_once=True, each=each) == OKAY
        for cycle in range(len(shown), max(at + 2, len(shown) + 1)):  # it may have ended before
            each(cycle)
            self.block.tick()
        return [*shown, self.block.peek("w1c")]
