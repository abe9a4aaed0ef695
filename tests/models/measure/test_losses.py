"""Losses: which packets are a sign of one, and that each is told once a round trip."""

from precog_models.measure.rtt_collector import RttCollector
from precog_models.packet.parser import Descriptor
from precog_spec.frames.descriptor import Direction, Reason

PSNS = 1 << 24
ACK, RESPONSE, SEND, READ = 0x11, 0x0E, 0x04, 0x0C
SEQUENCE_ERROR, RNR, INVALID = 0x60, 0x2E, 0x61


class Sender:
    """One queue pair; each method says whether a loss is told."""

    def __init__(self, first: int = 0, packets: int = 0) -> None:
        self.collector = RttCollector(2, 0, places=8)
        self.first = first
        for n in range(packets):
            assert not self.send(n)

    def send(self, psn: int, *, opcode: int = SEND, length: int = 8) -> bool:
        packet = Descriptor(
            Direction.TX, False, False, Reason.NONE, opcode=opcode, psn=(self.first + psn) % PSNS,
            dma_length=length, payload=0 if opcode == READ else length,
        )  # fmt: skip
        self.collector.sent(1, packet, 0)
        return self.collector.lost

    def answer(self, psn: int, syndrome: int = 0x1F, *, opcode: int = ACK) -> bool:
        packet = Descriptor(
            Direction.RX, False, False, Reason.NONE, opcode=opcode, psn=(self.first + psn) % PSNS,
            syndrome=syndrome,
        )  # fmt: skip
        self.collector.received(1, packet, 0)
        return self.collector.lost


def test_a_nak_and_what_it_has_sent_again_are_one_loss() -> None:
    for first in (0, PSNS - 3):
        sender = Sender(first, 8)
        assert not sender.answer(1)
        assert sender.answer(2, SEQUENCE_ERROR)
        assert not any(sender.send(n) for n in range(2, 8))
        assert not sender.answer(5, SEQUENCE_ERROR)  # lost once more, or forged
        assert not sender.send(5)
        assert not sender.answer(7)
        assert not sender.send(8)
        assert sender.answer(8, SEQUENCE_ERROR)


def test_a_time_out_is_a_loss() -> None:
    sender = Sender(packets=4)
    assert sender.send(0)
    assert not any(sender.send(n) for n in range(4))
    assert not sender.answer(2)
    assert not sender.send(4)
    assert not sender.send(3)  # in flight with the packet that was lost
    assert sender.send(4)


def test_selective_repeat_tells_of_packets_that_were_sent_since() -> None:
    sender = Sender(packets=8)
    assert sender.send(3)
    assert not any(sender.send(n) for n in (8, 5, 9))
    assert sender.send(8)
    assert not sender.send(9)


def test_the_response_of_a_read_has_a_gap() -> None:
    sender = Sender()
    assert not sender.send(0, opcode=READ, length=8192)
    assert not sender.answer(1, opcode=RESPONSE)
    assert sender.send(2, opcode=READ, length=6144)
    assert not sender.answer(7, opcode=RESPONSE)


def test_only_what_is_in_flight_can_be_lost() -> None:
    """NAKs of what is acknowledged, or was not sent, and what is sent again without need."""
    sender = Sender(packets=4)
    assert not sender.answer(1)
    assert not any(sender.answer(psn, SEQUENCE_ERROR) for psn in (0, 1, 5, PSNS // 2, -1))
    assert not sender.send(1)
    assert not sender.send(0)
    assert sender.answer(3, SEQUENCE_ERROR)


def test_a_nak_of_the_next_packet_acknowledges_all_and_lacks_none() -> None:
    sender = Sender(packets=4)
    assert not sender.answer(4, SEQUENCE_ERROR)
    assert not sender.send(3)


def test_a_receiver_that_is_not_ready_has_lost_nothing() -> None:
    sender = Sender(packets=4)
    assert not sender.answer(1, RNR)
    assert not any(sender.send(n) for n in range(1, 4))
    assert not sender.send(4)
    assert sender.answer(4, SEQUENCE_ERROR)


def test_other_answers_are_no_sign() -> None:
    sender = Sender(packets=4)
    assert not sender.answer(1, INVALID)
    assert not sender.answer(2, SEQUENCE_ERROR, opcode=RESPONSE)  # it has no syndrome
    assert sender.answer(3, SEQUENCE_ERROR | 0x80)


def test_forged_naks_need_a_new_packet_each() -> None:
    """However many: with every PSN there is, a NAK for each packet that is sent at the most."""
    sender = Sender(packets=16)
    told = sum(sender.answer(psn, SEQUENCE_ERROR) for psn in [*range(16), *range(16)] * 20)
    assert told == 1
    told = 0
    for psn in range(16, 64):
        sender.send(psn)
        told += sum(sender.answer(n, SEQUENCE_ERROR) for n in range(psn - 20, psn + 3))
    assert 1 < told <= 48


def test_half_the_psns_without_a_loss_hide_none() -> None:
    sender = Sender(packets=2)
    assert sender.answer(0, SEQUENCE_ERROR)
    sender.send(2)
    sender.answer(1)
    for psn in range(2, PSNS - 2, 1 << 20):
        sender.send(psn)
        assert not sender.answer(psn)
    sender.send(psn + 1)
    assert sender.answer(psn + 1, SEQUENCE_ERROR)


def test_another_queue_pair_starts_anew() -> None:
    sender = Sender(packets=4)
    assert sender.answer(2, SEQUENCE_ERROR)
    sender.collector.reset(1)
    assert not any(sender.send(n) for n in range(4))
    assert sender.answer(2, SEQUENCE_ERROR)


def test_without_programs_nobody_hears() -> None:
    sender = Sender()
    sender.collector = RttCollector(2, 0)
    sender.send(0)
    sender.send(1)
    assert not sender.answer(0, SEQUENCE_ERROR)
    assert not sender.send(0)
