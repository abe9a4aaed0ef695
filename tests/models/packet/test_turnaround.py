"""T2 - T1 by PSN for the last four packets that asked."""

from precog_models.packet.turnaround import Turnaround


def test_last_four() -> None:
    memory = Turnaround()
    for psn in range(5):
        memory.arrived(psn, 100 * psn)
    assert memory.answered(0, 1000) is None
    assert [memory.answered(psn, 1000) for psn in range(1, 5)] == [900, 800, 700, 600]
    assert memory.answered(4, 1001) == 601  # READ responses: more than one answer


def test_newest_of_two_and_saturation() -> None:
    memory = Turnaround()
    memory.arrived(9, 10)
    memory.arrived(9, 500)
    assert memory.answered(9, 520) == 20
    assert memory.answered(9, 500 + (1 << 24)) == (1 << 24) - 1
    assert memory.answered(10, 520) is None


def test_time_wraps() -> None:
    memory = Turnaround()
    memory.arrived(9, (1 << 40) - 5)
    assert memory.answered(9, 95) == 100
