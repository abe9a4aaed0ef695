"""The vocabulary of register maps: placement, packing, refusals."""

import random

import pytest

from precog_spec.registers.model import Access, Block, Field, Register, RegisterMap, Table

WORD = Register("R", "s", (Field("f", 8, Access.RW, "s"),))


def block(name: str, number: int, registers: int = 1, table: int = 0, group: int = 1) -> Block:
    group_registers = tuple(
        Register(f"G{n}", "s", (Field("f", 8, Access.RO, "s"),)) for n in range(group)
    )
    return Block(
        name,
        "s",
        id=number,
        version=(1, 0),
        registers=tuple(
            Register(f"R{n}", "s", (Field("f", 8, Access.RW, "s"),)) for n in range(registers)
        ),
        tables=(Table("T", "s", group_registers, count=table),) if table else (),
    )


def test_field_packs_and_unpacks(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(500):
        bits = rng.randrange(1, 33)
        signed = bool(rng.getrandbits(1)) and bits > 1
        lsb = rng.randrange(33 - bits)
        field = Field("f", bits, Access.RW, "s", lsb=lsb, signed=signed)
        value = rng.randrange(field.min, field.max + 1)
        other = rng.getrandbits(32)
        word = field.put(other, value)
        assert field.get(word) == value
        assert word & ~field.mask == other & ~field.mask
        assert 0 <= word < 1 << 32


@pytest.mark.parametrize(("signed", "value"), [(False, -1), (False, 256), (True, 128)])
def test_field_refuses_what_does_not_fit(signed: bool, value: int) -> None:
    field = Field("gain", 8, Access.RW, "s", signed=signed)
    with pytest.raises(ValueError, match=rf"gain must be in {field.min}..{field.max}, not {value}"):
        field.put(0, value)


def test_bad_declarations_are_refused() -> None:
    with pytest.raises(ValueError, match="field name must be a lower-case identifier, not 'A'"):
        Field("A", 1, Access.RW, "s")
    with pytest.raises(ValueError, match=r"field f must lie in bits 0..31, not 30\+3"):
        Field("f", 3, Access.RW, "s", lsb=30)
    with pytest.raises(ValueError, match="reset of f must fit 2 unsigned bits, not 4"):
        Field("f", 2, Access.RW, "s", reset=4)
    with pytest.raises(ValueError, match="register name must be an upper-case identifier"):
        Register("r", "s", ())
    with pytest.raises(ValueError, match="fields of R must not overlap, as b does"):
        Register("R", "s", (Field("a", 4, Access.RW, "s"), Field("b", 1, Access.RO, "s", lsb=3)))
    with pytest.raises(ValueError, match="fields of R must have distinct names"):
        Register("R", "s", (Field("a", 1, Access.RW, "s"), Field("a", 1, Access.RO, "s", lsb=3)))
    with pytest.raises(ValueError, match=r"count of T must be in 1..65535, not 0"):
        Table("T", "s", (WORD,), 0)
    with pytest.raises(ValueError, match="T must have a register"):
        Table("T", "s", (), 1)
    with pytest.raises(ValueError, match="blocks must have a distinct name"):
        RegisterMap((block("A", 1), block("A", 2)))
    with pytest.raises(ValueError, match="blocks must have a distinct id"):
        RegisterMap((block("A", 1), block("B", 1)))


def test_unknown_names_are_key_errors() -> None:
    regmap = RegisterMap((block("A", 1, table=2),))
    a = regmap.block("A")
    for look in (a.register, a.table, a.offset, a.table_offset, a.descriptor_offset):
        with pytest.raises(KeyError, match="A has no"):
            look("X")
    with pytest.raises(KeyError, match="the map has no block"):
        regmap.block("X")
    with pytest.raises(KeyError, match="R0 has no field"):
        a.register("R0").field("x")


def test_placement(seed: int) -> None:
    """Whatever the sizes: no overlap, aligned blocks and tables, a list that reaches all."""
    rng = random.Random(seed)
    for _ in range(50):
        regmap = RegisterMap(
            tuple(
                block(
                    f"B{n}",
                    n + 1,
                    rng.randrange(30),
                    rng.choice((0, rng.randrange(1, 70))),
                    rng.randrange(1, 6),
                )
                for n in range(rng.randrange(1, 6))
            )
        )
        addresses = [word.address for word in regmap.words()]
        assert len(set(addresses)) == len(addresses)
        assert max(addresses) < regmap.size <= 1 << regmap.address_bits
        constants = {word.address: word.constant for word in regmap.words()}
        base, found = 0, []
        while True:
            found.append(constants[base])
            if not constants[base + 8]:
                break
            base = constants[base + 8]
        assert found == [placed.block.type for placed in regmap.blocks]
        for placed in regmap.blocks:
            assert placed.base % placed.block.span == 0
            for table in placed.block.tables:
                size = table.count * table.stride
                start = placed.base + placed.block.table_offset(table.name)
                assert start % size.bit_length() == 0 or start % (1 << (size - 1).bit_length()) == 0
                at = placed.base + placed.block.descriptor_offset(table.name)
                assert constants[at] == placed.block.table_offset(table.name)
                assert constants[at + 4] == table.stride << 16 | table.count


def test_reset_word_leaves_pulses_out() -> None:
    register = Register(
        "R",
        "s",
        (
            Field("a", 4, Access.RW, "s", reset=5),
            Field("go", 1, Access.PULSE, "s", lsb=4, reset=1),
        ),
    )
    assert register.reset == 5
    assert register.mask(Access.RW, Access.PULSE) == 0x1F
