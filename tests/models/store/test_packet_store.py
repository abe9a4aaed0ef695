"""The golden packet store: quotas, what is borrowed, order, drops."""

import random

import pytest

from precog_models.store.packet_store import Outcome, Packet, PacketStore

CELL, LONGEST = 64, 512


def store(qps: int = 4) -> PacketStore:
    return PacketStore(qps, CELL, LONGEST)


def test_a_queue_is_first_in_first_out_and_knows_its_head() -> None:
    made = store()
    for n, size in enumerate((1, 64, 65)):
        assert made.append(1, Packet(n, size, 7 - n), quota=8, limit=0) is Outcome.STORED
    row = made.rows[1]
    assert (len(row.packets), row.queued, row.own, row.tail) == (3, 130, 4, 2)
    assert row.head == (0, 1, 7)
    assert made.pop(1) == (0, 1, 7)
    assert row.head == (0, 1, 7)  # until the one behind it is found
    assert made.advance(1) == row.head == (1, 64, 6)
    assert (made.pop(1), made.pop(1), made.pop(1)) == ((1, 64, 6), (2, 65, 5), None)
    assert (row.own, row.queued, made.shared) == (0, 0, 0)


def test_beyond_the_quota_cells_are_borrowed_and_given_back_first() -> None:
    made = store()
    assert made.append(0, Packet(0, 3 * CELL), quota=2, limit=3) is Outcome.STORED
    assert (made.rows[0].own, made.rows[0].borrowed, made.shared) == (2, 1, 1)
    assert made.append(1, Packet(8, 4 * CELL), quota=1, limit=3) is Outcome.QUOTA
    assert made.append(1, Packet(8, 3 * CELL), quota=1, limit=3) is Outcome.STORED
    assert made.append(0, Packet(16, 1), quota=2, limit=3) is Outcome.QUOTA
    # A quota that is raised does not make borrowed cells its own.
    assert made.append(0, Packet(16, 1), quota=4, limit=3) is Outcome.STORED
    made.pop(0)
    assert (made.rows[0].own, made.rows[0].borrowed, made.shared) == (1, 0, 2)
    assert [row.drops for row in made.rows] == [1, 1, 0, 0]


def test_what_may_wait_waits_if_it_could_ever_be_stored() -> None:
    made = store()
    made.append(0, Packet(0, 2 * CELL), quota=2, limit=1)
    assert made.append(0, Packet(4, 3 * CELL), quota=2, limit=1, may_wait=True) is Outcome.WAITS
    assert made.append(0, Packet(4, 4 * CELL), quota=2, limit=1, may_wait=True) is Outcome.QUOTA
    made.pop(0)
    assert made.append(0, Packet(4, 3 * CELL), quota=2, limit=1, may_wait=True) is Outcome.STORED


def test_too_long_and_no_memory_are_drops_of_their_own() -> None:
    made = store()
    assert made.append(2, Packet(0, LONGEST), quota=8, limit=0) is Outcome.STORED
    assert made.append(2, Packet(9, LONGEST + 1), quota=99, limit=99) is Outcome.LONG
    assert made.append(2, Packet(9, 1), quota=99, limit=0, memory=False) is Outcome.MEMORY
    assert made.rows[2].drops == 2


def test_a_cell_of_two_packets_is_an_error() -> None:
    made = store()
    made.append(0, Packet(5, 1), quota=9, limit=0)
    with pytest.raises(ValueError, match="cell 5 must be in one packet only"):
        made.append(1, Packet(5, 1), quota=9, limit=0)


def test_no_queue_has_more_than_quota_and_limit_allow(seed: int) -> None:
    rng, made = random.Random(seed), store()
    quotas, limit, free = [3, 0, 8, 20], 6, list(range(1000))
    for _ in range(2000):
        qp = rng.randrange(4)
        if rng.random() < 0.5:
            packet = Packet(free.pop(), rng.randrange(1, LONGEST + 20))
            outcome = made.append(qp, packet, quota=quotas[qp], limit=limit)
            if outcome is not Outcome.STORED:
                free.append(packet.cell)
        elif (left := made.pop(qp)) is not None:
            free.append(left.cell)
        for row, quota in zip(made.rows, quotas, strict=True):
            assert row.own <= quota
            used = sum(made.cells(packet.size) for packet in row.packets)
            assert row.own + row.borrowed == used
        assert made.shared == sum(row.borrowed for row in made.rows) <= limit
