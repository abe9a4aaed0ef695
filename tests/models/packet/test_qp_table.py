"""QP lookup against a dictionary, under moves, and with two hosts behind one number."""

import random

import pytest

from precog_models.packet.qp_table import Key, QpTable
from precog_models.packet.wire.descriptor import Direction

TX, RX = Direction.TX, Direction.RX


def filled(rng: random.Random, slots: int) -> tuple[QpTable, dict[Key, int]]:
    """A table of connections with few hosts, so that QPNs and addresses repeat."""
    table, truth = QpTable(slots), {}
    for slot in rng.sample(range(slots), slots):
        while True:
            remote = 0x0A000000 + rng.randrange(8)
            keys = Key(TX, remote, rng.randrange(400)), Key(RX, remote, rng.randrange(400))
            if not any(key in truth for key in keys):
                break
        table.add(slot, remote, keys[0].qpn, keys[1].qpn)
        truth.update(dict.fromkeys(keys, slot))
    return table, truth


@pytest.mark.parametrize("slots", [64, 1024])
def test_full_table_finds_all_and_nothing_else(slots: int, seed: int) -> None:
    rng = random.Random(seed)
    table, truth = filled(rng, slots)
    assert len(truth) == 2 * slots
    for key, slot in truth.items():
        assert table.lookup(*key) == slot
    for _ in range(2000):
        key = Key(rng.choice([TX, RX]), 0x0A000000 + rng.randrange(9), rng.randrange(500))
        assert table.lookup(*key) == truth.get(key)


def test_no_key_is_missing_between_two_writes(seed: int) -> None:
    """The host's writes, one by one into a second table, while every key is looked up."""
    rng = random.Random(seed)
    slots = 64
    host, card = QpTable(slots), QpTable(slots)
    present: dict[Key, int] = {}
    moves = 0
    for slot in range(slots):
        remote, remote_qp, local_qp = rng.getrandbits(128), rng.getrandbits(24), rng.getrandbits(24)
        writes = host.add(slot, remote, remote_qp, local_qp)
        moves += len(writes) - 2
        for write in writes:
            card.write(write)
            for key, owner in present.items():
                assert card.lookup(*key) == owner
        present[Key(TX, remote, remote_qp)] = slot
        present[Key(RX, remote, local_qp)] = slot
        assert all(card.lookup(*key) == owner for key, owner in present.items())
    assert moves > 0


def test_direction_and_host_are_part_of_the_key() -> None:
    table = QpTable(4)
    table.add(0, 100, 7, 9)
    table.add(3, 200, 7, 9)
    assert [table.lookup(TX, 100, 7), table.lookup(TX, 200, 7)] == [0, 3]
    assert [table.lookup(RX, 100, 9), table.lookup(RX, 200, 9)] == [0, 3]
    assert table.lookup(TX, 100, 9) is None
    assert table.lookup(RX, 100, 7) is None
    assert table.remote_qp == [7, None, None, 7]


def test_remove_and_add_again(seed: int) -> None:
    table, truth = filled(random.Random(seed), 64)
    gone = table.remove(17)
    assert len(gone) == 2
    for key, slot in truth.items():
        assert table.lookup(*key) == (None if slot == 17 else slot)
    table.add(17, 5, 6, 7)
    assert table.lookup(TX, 5, 6) == 17
    assert table.remove(17)
    assert not table.remove(17)


def test_errors_change_nothing() -> None:
    with pytest.raises(ValueError, match="slots must be a power of two, not 48"):
        QpTable(48)
    table = QpTable(4)
    table.add(1, 100, 7, 9)
    with pytest.raises(ValueError, match=r"slot must be 0\.\.3, not 4"):
        table.add(4, 1, 1, 1)
    with pytest.raises(ValueError, match="slot must be free, not in use like 1; remove it first"):
        table.add(1, 1, 1, 1)
    with pytest.raises(ValueError, match="local QPN must be 24 bits unsigned, not 16777216"):
        table.add(0, 1, 1, 1 << 24)
    with pytest.raises(ValueError, match="RX key must belong to one slot, not to 1 and 2: QPN 0x9"):
        table.add(2, 100, 8, 9)
    assert table.lookup(TX, 100, 8) is None


def test_no_place_left() -> None:
    """Keys whose rows are all row 0: the fourth finds no cell, and the third's slot stays whole."""
    table = QpTable(2)

    def at_row_0(direction: Direction) -> list[int]:
        return [qpn for qpn in range(2000) if not any(table.rows(Key(direction, 1, qpn)))]

    remote, local = at_row_0(TX), at_row_0(RX)
    table.add(0, 1, remote[0], local[0])
    with pytest.raises(ValueError, match="QP table must have a free place for"):
        table.add(1, 1, remote[1], local[1])
    assert table.lookup(TX, 1, remote[1]) is None
    assert table.lookup(TX, 1, remote[0]) == 0
    assert table.remote_qp == [remote[0], None]
