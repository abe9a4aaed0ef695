"""Frames between guests: held until bound, byte for byte as they were, counted; hangs are told."""

from typing import Any

import pytest

from precog_lab.packages import LabError
from precog_lab.settings import Settings
from precog_sim.backtoback.frames import BTH_AT, with_ce
from precog_spec.frames.headers import BTH

from .bench import Bench
from .fake_guest import frame


def test_frames_wait_until_both_cards_know_their_queue_pair(bench: Bench) -> None:
    bench.connect(1, 17, 33)
    sent = [frame(1, 0, 33, psn, bytes([psn]) * psn) for psn in range(40)]
    bench.run(*((1, one) for one in sent))
    assert bench.guests[0].got == sent
    assert bench.lab.seen.shims == 40
    assert bench.lab.seen.unbound == 0
    assert [guest.asked for guest in bench.guests] == [1, 1]
    device = bench.cards[0].device
    assert device.receiver is not None
    assert device.receiver.counters()["scores"] == 40
    wire = [one.data for one in bench.lab.seen.wire]
    assert [len(one) for one in wire] == [len(one) + 8 for one in sent]


def test_strangers_and_other_protocols_pass_as_they_are(bench: Bench) -> None:
    other = b"\xff" * 6 + bytes(54)
    stranger, management = frame(1, 0, 99, 5), frame(1, 0, 1, 6)
    bench.run((1, other), (1, management), (1, stranger))
    assert sorted(bench.guests[0].got) == sorted([other, management, stranger])
    assert (bench.lab.seen.shims, bench.lab.seen.unbound) == (0, 2)
    assert bench.guests[0].asked == 2  # a guest may be about to make it
    bench.run((1, frame(1, 0, 99, 6)))
    assert bench.guests[0].asked == 2


def test_slots_are_released_and_used_again(bench: Bench) -> None:
    for number in range(12):  # more than slots
        bench.connect(1, 17 + number, 33 + number)
        bench.run((1, frame(1, 0, 33 + number, number)))
        for guest in bench.guests:
            guest.pairs_now.clear()
        bench.lab.drained(20)
    binding = bench.lab.binding
    assert (binding.added, binding.released, binding.peak) == (24, 24, 1)
    assert bench.lab.seen.shims == 12
    for card in bench.cards:
        assert card.device.packet is not None
        assert card.device.packet.bindings() == []
        assert card.differences == []


@pytest.mark.parametrize("bench", [Settings(senders=3)], indirect=True)
def test_an_incast_of_guests_with_equal_numbers(bench: Bench) -> None:
    for guest in (1, 2, 3):
        bench.connect(guest, 17, 16 + guest)
    bench.run(*((guest, frame(guest, 0, 16 + guest, 7)) for guest in (1, 2, 3)))
    bench.run(*((0, frame(0, guest, 17, 7)) for guest in (1, 2, 3)))
    assert bench.lab.seen.shims == 6
    assert [len(guest.got) for guest in bench.guests] == [3, 1, 1, 1]


@pytest.mark.parametrize("bench", [Settings(ce=0.5)], indirect=True)
def test_marks_are_put_on_and_lead_to_notifications(bench: Bench) -> None:
    bench.connect(1, 17, 33)
    sent = [frame(1, 0, 33, psn) for psn in range(60)]
    bench.run(*((1, one) for one in sent))
    marked = bench.lab.links[0].marked
    assert 10 < marked < 50
    assert sum(got == with_ce(one) for got, one in zip(bench.guests[0].got, sent, strict=True)) == (
        marked
    )
    packets = bench.cards[0].device.packet
    assert packets is not None
    events = packets.counters()["events"]
    assert events["cnp_sent"] + events["cnp_limited"] == marked == bench.lab.seen.marked_data
    assert events["cnp_sent"] > 0
    bench.lab.until(lambda: len(bench.guests[1].got) == events["cnp_sent"], 20, "CNPs")
    assert {BTH.get(got, BTH_AT, "opcode") for got in bench.guests[1].got} == {0x81}
    assert bench.cards[1].rate_min is not None
    assert bench.cards[1].rate_min < bench.cards[1].emulator.nic.configuration(0)["init_rate"]


@pytest.mark.parametrize("bench", [Settings(loss=0.3, delay_us=2.0)], indirect=True)
def test_what_is_lost_is_counted_and_what_is_sent_again(bench: Bench) -> None:
    bench.connect(1, 17, 33)
    sent = [frame(1, 0, 33, psn) for psn in range(50)]
    bench.run(*((1, one) for one in sent))
    lost = bench.lab.links[0].lost
    assert 3 < lost < 30
    assert len(bench.guests[0].got) == 50 - lost
    assert bench.lab.requests.again == 0
    bench.run((1, sent[20]), (1, sent[21]), (1, frame(1, 0, 33, 50)))
    assert bench.lab.requests.again == 2


@pytest.mark.parametrize("bench", [Settings(pace=True, algorithm="fixed")], indirect=True)
def test_packets_wait_at_the_card_as_the_law_says(bench: Bench) -> None:
    bench.connect(1, 17, 33)
    bench.run((1, frame(1, 0, 33, 0)))
    slot = bench.cards[1].slot_of(frame(1, 0, 33, 0), 33)
    assert slot is not None
    bench.cards[1].device.qp(slot).configure(init_gbps=0.1, min_gbps=0.05)
    began = bench.lab.now
    size = 1000
    bench.run(*((1, frame(1, 0, 33, psn, bytes(size))) for psn in range(1, 6)))
    # 0.1 Gb/s are 0.0125 bytes a tick; the first of the five may leave at once.
    assert bench.lab.now - began >= 4 * size / 0.0125
    assert len(bench.guests[0].got) == 6


def test_a_guest_whose_queue_is_full_gets_its_frames_later(bench: Bench) -> None:
    bench.connect(1, 17, 33)
    bench.guests[0].full = True
    sent = [frame(1, 0, 33, psn) for psn in range(5)]
    bench.run(*((1, one) for one in sent))
    assert bench.guests[0].got == []
    bench.guests[0].full = False
    bench.lab.until(lambda: len(bench.guests[0].got) == 5, 20, "frames")
    assert bench.guests[0].got == sent


def test_a_frame_that_comes_out_otherwise_is_a_difference(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.connect(1, 17, 33)
    bench.run((1, frame(1, 0, 33, 0)))
    card = bench.cards[0]
    real = card.receive

    def damaged(data: bytes, t: int) -> Any:
        got = real(data, t)
        assert got.host is not None
        got.host = got.host[:-1] + bytes([got.host[-1] ^ 1])
        return got

    monkeypatch.setattr(card, "receive", damaged)
    bench.run((1, frame(1, 0, 33, 1)))
    assert len(bench.lab.differences) == 1
    assert bench.lab.seen.identical == 1


def test_a_hang_is_told_with_the_serial_lines(bench: Bench) -> None:
    with pytest.raises(LabError, match="pigs did not come while nothing moved"):
        bench.lab.until(lambda: False, 20, "pigs", silence_s=0.2)
    with pytest.raises(LabError, match="answer c1 of guest 0 did not come within 0 s"):
        bench.lab.answer(0, "c1", 0.2)
    with pytest.raises(LabError, match="guest 1, serial line:\nlast words of 1"):
        bench.lab.ready(0.1)
