"""Words, instructions and labels of the small processor, and what its assembler refuses."""

import pytest

from precog_hw.micro.isa import Assembler, Kind, Op, Table, WordMap
from precog_spec.contract import chord_table, inverse_table


def test_an_instruction_is_an_address_a_kind_and_an_operation() -> None:
    words = WordMap(4, ("first", "second"))
    assembler = Assembler(10)
    assembler.op(Op.ADD, words.row("second"))
    assembler.jump(Op.JN, "end")
    assembler.number(Op.SHL, 12)
    assembler.label("end")
    row, jump, shift = assembler.words()
    assert row == Op.ADD << 12 | Kind.ROW << 10 | 769
    assert jump == Op.JN << 12 | 3
    assert shift == Op.SHL << 12 | 12


@pytest.mark.parametrize(("qps", "first"), [(1, 768), (8, 768), (16, 1024), (64, 2048)])
def test_a_row_is_found_by_or(qps: int, first: int) -> None:
    words = WordMap(qps, ("only",))
    _, address = words.row("only")
    assert address == first
    assert words.depth == first + 32 * qps
    rows = {address | qp << words.row_shift for qp in range(qps)}
    assert rows == {first + 32 * qp for qp in range(qps)}


def test_memory_has_constants_and_tables_at_first() -> None:
    words = WordMap(2, ())
    _, at = words.constant(-5)
    assert words.constant(-5) == words.word("constant -5")
    memory = words.initial()
    assert memory[at] == -5
    for n, (base, fall) in enumerate(chord_table()):
        assert (memory[Table.BASE | 128 | n], memory[Table.FALL | 128 | n]) == (base, fall)
    assert tuple(memory[Table.INVERSE :][:256]) == inverse_table()
    assert len(memory) == words.depth


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="row must have at most 32 words, not 33"):
        WordMap(4, [str(n) for n in range(33)])
    words = WordMap(4, ())
    for n in range(128):
        words.word(str(n))
    with pytest.raises(ValueError, match="words must be at most 128, 'more' is one too many"):
        words.word("more")


def test_labels_have_one_place() -> None:
    assembler = Assembler(4)
    assembler.label("here")
    with pytest.raises(ValueError, match="label must be new, not 'here'"):
        assembler.label("here")
    assembler.jump(Op.JMP, "nowhere")
    with pytest.raises(ValueError, match="label must have a place, 'nowhere' has none"):
        assembler.words()


def test_an_address_has_its_bits() -> None:
    assembler = Assembler(4)
    assembler.number(Op.SHL, 16)
    with pytest.raises(ValueError, match="address must have 4 bits, not 16"):
        assembler.words()
