"""What every register bank must do, generated from its map; for any simulator.

The access functions come from the caller: ``read(address) -> (response, data)`` and
``write(address, data, strb=15) -> response``, both awaited. Nothing but the map says what a
register is; words whose value belongs to the hardware around the bank are given in `hardware`.
"""

import random
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from precog_hw.regmap.model import Access, RegisterMap, Word

OKAY, SLVERR = 0, 2

Read = Callable[[int], Awaitable[tuple[int, int]]]
Write = Callable[..., Awaitable[int]]


@dataclass
class Suite:
    """The checks; each is a coroutine that raises AssertionError."""

    regmap: RegisterMap
    read: Read
    write: Write
    rng: random.Random
    hardware: Mapping[str, int] = field(default_factory=dict)

    async def run(self) -> None:
        """All checks, the one of reset values first."""
        await self.reset_values()
        await self.bit_bash()
        await self.no_aliases()
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
        """What a read returns once `value` has been written to a word that the bank stores."""
        assert word.register
        mask = word.register.mask(Access.RW)
        return value & mask | self.resting(word) & ~mask

    def stored(self) -> list[Word]:
        """Words with RW fields that the bank itself stores."""
        return [
            word
            for word in self.regmap.words()
            if word.register and word.table is None and word.register.mask(Access.RW)
        ]

    async def expect(self, word: Word, value: int) -> None:
        got = await self.read(word.address)
        assert got == (OKAY, value), f"{word.name} must read {value:#x}, not {got}"

    async def reset_values(self) -> None:
        for word in self.regmap.words():
            await self.expect(word, self.resting(word))

    async def bit_bash(self) -> None:
        for word in self.stored():
            for value in (
                0xFFFF_FFFF,
                0,
                *(1 << bit for bit in range(32)),
                self.rng.getrandbits(32),
            ):
                assert await self.write(word.address, value) == OKAY, word.name
                await self.expect(word, self.after(word, value))

    async def no_aliases(self) -> None:
        values = {}
        for word in self.stored():
            values[word.name] = self.rng.getrandbits(32)
            assert await self.write(word.address, values[word.name]) == OKAY
        for word in self.regmap.words():
            if word.name in values:
                await self.expect(word, self.after(word, values[word.name]))
            elif word.register is None or word.register.constant:
                await self.expect(word, self.resting(word))

    async def read_only(self) -> None:
        for word in self.regmap.words():
            if word.register is not None and word.register.mask(
                Access.RW, Access.W1C, Access.PULSE
            ):
                continue
            assert await self.write(word.address, self.rng.getrandbits(32)) == OKAY
            await self.expect(word, self.resting(word))

    async def unmapped(self) -> None:
        mapped = {word.address for word in self.regmap.words()}
        beyond = (1 << self.regmap.address_bits) // 4
        for address in (
            *range(0, self.regmap.size, 4),
            *(self.regmap.size | 1 << bit for bit in range(2, self.regmap.address_bits)),
            *(4 * self.rng.randrange(self.regmap.size // 4, beyond) for _ in range(20)),
        ):
            if address not in mapped:
                got = await self.read(address)
                assert got == (SLVERR, 0), f"{address:#x} must be refused, not {got}"
                assert await self.write(address, 0xFFFF_FFFF) == SLVERR, f"{address:#x}"

    async def misaligned(self) -> None:
        for word in self.stored():
            before = await self.read(word.address)
            offset = self.rng.randrange(1, 4)
            assert await self.write(word.address + offset, ~before[1] & 0xFFFF_FFFF) == SLVERR
            assert await self.read(word.address + offset) == (SLVERR, 0)
            assert await self.read(word.address) == before

    async def partial_writes(self) -> None:
        word = self.stored()[0]
        before = await self.read(word.address)
        for strb in range(15):
            assert await self.write(word.address, ~before[1] & 0xFFFF_FFFF, strb=strb) == SLVERR
            assert await self.read(word.address) == before
