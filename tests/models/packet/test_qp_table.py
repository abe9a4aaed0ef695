"""QP lookup against a dictionary, under moves, and with two hosts behind one number."""

import random

import pytest

from precog_models.packet.qp_table import Key, QpTable
from precog_spec.frames.crc import remainder
from precog_spec.frames.descriptor import Direction
from precog_spec.frames.qp_key import IPV4_MAPPED, table_rows, way_polynomials

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


def orders(rng: random.Random, slots: int) -> dict[str, list[tuple[int, int, int]]]:
    """Connections as hosts number them: (address, remote QPN, local QPN) of each slot."""
    peer = IPV4_MAPPED | rng.getrandbits(32)
    network = 0xFD00 << 112 | rng.getrandbits(48) << 64 | rng.getrandbits(64) & ~0xFF
    a, b, step = rng.getrandbits(20), rng.getrandbits(20), rng.randrange(3, 300)
    c, d = a & ~0xFFF, b & ~0xFFF
    every = range(slots)
    return {
        "in order": [(peer, a + n, b + n) for n in every],
        "in order from round numbers": [(peer, c + n, d + n) for n in every],
        "same number at both ends": [(peer, a + n, a + n) for n in every],
        "every second": [(peer, a + 2 * n, b + 2 * n) for n in every],
        "in steps": [(peer, a + step * n, b + step * n) for n in every],
        "4 peers": [(peer + n % 4, a + n // 4, b + n) for n in every],
        "32 peers": [(peer + n % 32, a + n // 32, b + n) for n in every],
        "16 IPv6 peers": [(network + n % 16, a + n // 16, b + n) for n in every],
        "random": [(rng.getrandbits(128), rng.getrandbits(24), rng.getrandbits(24)) for _ in every],
    }


@pytest.mark.parametrize(
    ("slots", "times"),
    [(2, 20), (4, 20), (8, 20), (16, 20), (64, 8), (128, 4), (256, 2), (1024, 1)],
)
def test_every_slot_finds_a_place(slots: int, times: int, seed: int, volume: int) -> None:
    rng = random.Random(seed)
    for _ in range(times * volume):
        for order, connections in orders(rng, slots).items():
            table = QpTable(slots)
            for slot, connection in enumerate(connections):
                try:
                    table.add(slot, *connection)
                except ValueError as error:
                    pytest.fail(f"{order}, slot {slot} of {slots}: {error}")


@pytest.mark.parametrize("slots", [1 << n for n in range(15)])
def test_remainders_spread_keys_in_order(slots: int, seed: int) -> None:
    """As many QPNs as rows, beginning on a round number: all values, by each polynomial."""
    rng = random.Random(seed)
    rows = table_rows(slots)
    first = rng.getrandbits(24) & ~(rows - 1)
    remote, direction = rng.getrandbits(128), rng.choice([TX, RX])
    keys = [Key(direction, remote, first + n).pack() for n in range(rows)]
    for polynomial in way_polynomials(slots):
        assert {remainder(key, polynomial) for key in keys} == set(range(rows))


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
    slots = 256
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
    with pytest.raises(ValueError, match="slots must be a power of two up to 16384, not 48"):
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
        return [qpn for qpn in range(60_000) if not any(table.rows(Key(direction, 1, qpn)))]

    remote, local = at_row_0(TX), at_row_0(RX)
    table.add(0, 1, remote[0], local[0])
    with pytest.raises(ValueError, match="QP table must have a free place for"):
        table.add(1, 1, remote[1], local[1])
    assert table.lookup(TX, 1, remote[1]) is None
    assert table.lookup(TX, 1, remote[0]) == 0
    assert table.remote_qp == [remote[0], None]
