"""What every register bank must do, generated from its map; for any bus, real or simulated.

The access functions come from the caller: ``read(address) -> (response, data)`` and
``write(address, data, strb=15) -> response``, both awaited. Nothing but the map says what a
register is; words whose value belongs to the hardware around the bank are given in `hardware`.
"""

import random
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from precog_spec.registers.model import Access, Register, RegisterMap, Word

OKAY, SLVERR = 0, 2
_ALL = 0xFFFF_FFFF
#: Reads until a command is over: the slowest one sweeps some queue pairs.
_COMMAND_READS = 1000

Read = Callable[[int], Awaitable[tuple[int, int]]]
Write = Callable[..., Awaitable[int]]


@dataclass(frozen=True)
class Rules:
    """What a bus answers where the map says nothing; the default is our front end.

    Parameters
    ----------
    address_bits : int or None
        Of the port; None: those of the map.
    partial_writes : bool
        A write sets the bytes of its strobes; else one without all of them is refused.
    ignores_low_bits : bool
        The lowest two bits of an address mean nothing; else they must be 0.
    refuses_in_tables : bool
        An address in a table's entry behind its registers is refused.
    """

    address_bits: int | None = None
    partial_writes: bool = False
    ignores_low_bits: bool = False
    refuses_in_tables: bool = True


@dataclass
class Suite:
    """The checks; each is a coroutine that raises AssertionError.

    With `live` a whole device is behind the bank: what commands would start is not started, what
    hardware moves by itself is not compared, and a table's words may be refused.
    """

    regmap: RegisterMap
    read: Read
    write: Write
    rng: random.Random
    hardware: Mapping[str, int] = field(default_factory=dict)
    rules: Rules = Rules()
    live: bool = False

    async def run(self) -> None:
        """All checks, the one of reset values first."""
        await self.reset_values()
        await self.bit_bash()
        await self.no_aliases()
        await self.commands_read_as_zero()
        await self.read_only()
        await self.unmapped()
        await self.misaligned()
        await self.partial_writes()

    def resting(self, word: Word) -> int:
        """What a read returns when software has written nothing."""
        if word.register is None:
            return word.constant
        return self.hardware.get(word.name, word.register.reset)

    def after(self, word: Word, value: int) -> int:
        """What a read returns once `value` has been written to a word that is stored."""
        assert word.register
        mask = word.register.mask(Access.RW)
        return value & mask | self.resting(word) & ~mask

    def stored(self) -> list[tuple[Word, Register]]:
        """Words with RW fields; of a live device those that the bank itself stores."""
        return [
            (word, word.register)
            for word in self.regmap.words()
            if word.register and not (self.live and word.table) and word.register.mask(Access.RW)
        ]

    def moving(self, word: Word) -> bool:
        """Whether hardware may have changed the word meanwhile."""
        return self.live and word.register is not None and word.register.volatile

    async def expect(self, word: Word, value: int) -> None:
        got = await self.read(word.address)
        assert got == (OKAY, value), f"{word.name} must read {value:#x}, not {got}"

    async def put(self, word: Word, register: Register, value: int) -> None:
        """Write `value`, of which a live device does not get what would start something."""
        if self.live:
            value &= ~register.mask(Access.PULSE)
        assert await self.write(word.address, value) == OKAY, word.name

    async def reset_values(self) -> None:
        for word in self.regmap.words():
            if not self.moving(word):
                await self.expect(word, self.resting(word))

    async def bit_bash(self) -> None:
        """Every bit alone up, every bit alone down, all of them, none."""
        for word, register in self.stored():
            bits = [1 << bit for bit in range(32)]
            for value in (_ALL, 0, *bits, *(_ALL & ~bit for bit in bits), self.rng.getrandbits(32)):
                await self.put(word, register, value)
                await self.expect(word, self.after(word, value))

    async def no_aliases(self) -> None:
        """Every word has a value of its own; writing it again changes no other."""
        values = {word.name: self.rng.getrandbits(32) for word, _ in self.stored()}
        for word, register in self.stored():
            await self.put(word, register, values[word.name])
        for word in self.regmap.words():
            if word.name in values:
                await self.expect(word, self.after(word, values[word.name]))
            elif not self.live or word.register is None or word.register.constant:
                await self.expect(word, self.resting(word))

    async def commands_read_as_zero(self) -> None:
        """Fields that start something, behind a write: of a live device one that starts nothing."""
        for word in self.regmap.words():
            if word.register and word.register.mask(Access.PULSE):
                await self.put(word, word.register, self.rng.getrandbits(32))
                response, value = await self.read(word.address)
                assert response == OKAY
                assert value & word.register.mask(Access.PULSE) == 0, word.name

    async def read_only(self) -> None:
        for word in self.regmap.words():
            if word.register is not None and word.register.mask(
                Access.RW, Access.W1C, Access.PULSE
            ):
                continue
            before = await self.read(word.address)
            assert await self.write(word.address, self.rng.getrandbits(32)) == OKAY
            if not self.moving(word):
                await self.expect(word, before[1])

    async def changes_nothing_else(self, *, look: int | None = None) -> None:
        """A write changes its own word and what the map says of it; commands are started.

        Words of the same block are looked at behind each write, and `look` of the others (None:
        all).
        """
        still = [word for word in self.regmap.words() if not self.moving(word)]
        seen = {word.name: await self.read(word.address) for word in still}
        for word in self.regmap.words():
            register = word.register
            if register is None or not register.mask(Access.RW, Access.W1C, Access.PULSE):
                continue
            value = self.rng.choice((_ALL, self.rng.getrandbits(32), 1 << self.rng.randrange(32)))
            assert await self.write(word.address, value) == OKAY, word.name
            await self.command_is_over(word)
            near, far = [], []
            for other in still:
                close = other.block is word.block or _may_change(word, register, other)
                (near if close else far).append(other)
            for other in (*near, *(far if look is None else self.rng.sample(far, look))):
                got = await self.read(other.address)
                assert got == seen[other.name] or _may_change(word, register, other), (
                    f"{word.name} = {value:#x} changes {other.name}: {seen[other.name]} to {got}"
                )
                seen[other.name] = got

    async def command_is_over(self, word: Word) -> None:
        """Waits until the block of a word that was written says that it is not busy."""
        for state in self.regmap.words():
            if state.block is word.block and state.register and state.register.name == "STATE":
                resets = word.block.name == "RESET"  # each of its bits says that one goes on
                bits = [f.lsb for f in state.register.fields if resets or f.name == "busy"]
                busy = sum(1 << bit for bit in bits)
                for _ in range(_COMMAND_READS):
                    if not (await self.read(state.address))[1] & busy:
                        return
                raise AssertionError(f"{state.name} is busy for ever after {word.name}")

    async def unmapped(self) -> None:
        mapped = {word.address for word in self.regmap.words()}
        if not self.rules.refuses_in_tables:
            for placed in self.regmap.blocks:
                for table in placed.block.tables:
                    start = placed.base + placed.block.table_offset(table.name)
                    mapped |= set(range(start, start + table.count * table.stride, 4))
        bits = self.rules.address_bits or self.regmap.address_bits
        size, beyond = self.regmap.size, (1 << bits) // 4
        rest = [4 * n for n in range(size // 4, beyond)]
        for address in (
            *range(0, size, 4),
            *(size | 1 << bit for bit in range(2, bits) if size | 1 << bit < 1 << bits),
            *(self.rng.choice(rest) for _ in range(20) if rest),
        ):
            if address not in mapped:
                got = await self.read(address)
                assert got == (SLVERR, 0), f"{address:#x} must be refused, not {got}"
                assert await self.write(address, _ALL) == SLVERR, f"{address:#x}"

    async def misaligned(self) -> None:
        for word, register in self.stored():
            offset = self.rng.randrange(1, 4)
            before = await self.read(word.address)
            if self.rules.ignores_low_bits:
                await self.put(word, register, 0)
                assert await self.write(word.address + offset, before[1]) == OKAY
                assert await self.read(word.address + offset) == before
                continue
            assert await self.write(word.address + offset, ~before[1] & _ALL) == SLVERR
            assert await self.read(word.address + offset) == (SLVERR, 0)
            assert await self.read(word.address) == before

    async def partial_writes(self) -> None:
        stored = self.stored()
        for word, register in self.rng.sample(stored, min(4, len(stored))):
            mask = register.mask(Access.RW)
            for strobes in range(15):
                before = await self.read(word.address)
                response = await self.write(word.address, ~before[1] & _ALL, strb=strobes)
                changed = sum(0xFF << 8 * n for n in range(4) if strobes >> n & 1) & mask
                if self.rules.partial_writes:
                    assert response == OKAY
                    assert await self.read(word.address) == (OKAY, before[1] ^ changed)
                else:
                    assert response == SLVERR
                    assert await self.read(word.address) == before


def _may_change(word: Word, register: Register, other: Word) -> bool:
    """Whether a write to `word` may change `other`, by what the map says of its register."""
    if other is word or other.name == word.name:
        return True
    if other.register is None:
        return False
    where = other.table or other.register
    if f"{other.block.name}.{where.name}" in register.affects:
        return True
    by_hardware = other.register.loadable or other.register.mask(Access.RO, Access.W1C)
    return bool(register.mask(Access.PULSE) and other.block is word.block and by_hardware)
