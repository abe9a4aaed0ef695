"""Rings of timed packets: which round trips they measure, and whose bytes an ACK tells."""

from precog_models.measure.ack_ring import Ack, AckRing
from precog_spec.contract import Fmt

PSNS = 1 << 24
PLACES = 4


class Sender:
    """One queue pair that listens; its packets have 100 bytes."""

    def __init__(self, first: int = 0) -> None:
        self.ring = AckRing(2, PLACES)
        self.ring.listen(1, on=True)
        self.acked, self.next = (first - 1) % PSNS, first

    def send(self, t: int, *, psn: int | None = None) -> None:
        new = psn is None
        psn = self.next if psn is None else psn
        self.ring.sent(1, psn, 100, t, new=new, acked=self.acked)
        if new:
            self.next = (psn + 1) % PSNS

    def ack(
        self, psn: int, t: int, *, turnaround: int = -1, floor: int = 0, marked: bool = False
    ) -> Ack | None:
        self.acked = psn % PSNS
        return self.ring.answered(
            1, self.acked, t, turnaround, floor, marked=marked, following=self.next
        )


def test_every_packet_has_its_round_trip() -> None:
    sender = Sender()
    for n in range(3):
        sender.send(10 * n)
    for n in range(3):
        assert sender.ack(n, 500 + n) == Ack(500 - 9 * n, 100, 0, n + 1, 3)


def test_coalesced_acknowledgements_tell_all_bytes() -> None:
    sender = Sender(PSNS - 2)
    for n in range(4):
        sender.send(n)
    assert sender.ack(1, 100, marked=True) == Ack(97, 400, 1, 2, 2)


def test_with_a_full_ring_the_oldest_are_timed() -> None:
    """What is not timed is told with the next packet that is."""
    sender = Sender()
    for n in range(6):
        sender.send(n)
    assert sender.ack(3, 50) == Ack(47, 400, 0, 4, 6)
    assert sender.ack(5, 60, marked=True) is None
    sender.send(70)
    assert sender.ack(6, 90) == Ack(20, 300, 1, 7, 7)


def test_what_is_sent_again_has_no_round_trip() -> None:
    sender = Sender()
    sender.send(0)
    sender.send(1)
    sender.send(90, psn=0)
    assert sender.ack(0, 100) is None
    assert sender.ack(1, 101) == Ack(100, 200, 0, 2, 2)


def test_turnarounds_and_their_floor() -> None:
    for turnaround, floor, rtt in ((-1, 0, 100), (40, 59, 60), (40, 60, 100), (101, 0, 100)):
        sender = Sender()
        sender.send(0)
        told = sender.ack(0, 100, turnaround=turnaround, floor=floor)
        assert told is not None
        assert told.rtt == rtt


def test_times_that_no_round_trip_can_have() -> None:
    sender = Sender()
    for t in (5, 6, 7):
        sender.send(t)
    assert sender.ack(0, 5) == Ack(1, 100, 0, 1, 3)  # one that took no time
    assert sender.ack(1, 5) is None  # it ends before it began
    assert sender.ack(2, 8 + Fmt.RTT.max) is None


def test_a_reset_ends_what_is_in_flight() -> None:
    sender = Sender()
    for t in range(3):
        sender.send(t)
    assert sender.ack(0, 10) is not None
    assert sender.ack(PLACES + 1, 11, marked=True) is None  # its mark waits
    sender.ring.reset(1)
    sender.acked, sender.next = 499, 500
    sender.send(20)
    assert sender.ack(500, 50) == Ack(30, 100, 0, 501, 501)


def test_without_a_listener_nothing_is_told_or_kept() -> None:
    sender = Sender()
    sender.ring.listen(1, on=False)
    sender.send(0)
    sender.send(1)
    assert sender.ack(0, 10, marked=True) is None
    sender.ring.listen(1, on=True)
    assert sender.ack(1, 20) == Ack(19, 100, 0, 2, 2)
