"""A Verilated card with its golden twin, without guests: alike, and a difference is told."""

from collections.abc import Iterator

import pytest

from precog_lab.practice import practise
from precog_lab.rtl_card import RtlCard
from precog_sim.backtoback.rtl_node import CONFIG, TICK_PS
from precog_sim.rtl.packet_block import Wire
from precog_sim.rtl.packet_nic import PacketNic

pytestmark = [pytest.mark.cosim, pytest.mark.xdist_group("packet_nic")]

_MESSAGES = 12
_FRAMES = 9  # of a message, with its acknowledgement
_ARP = bytes(12) + b"\x08\x06" + bytes(46)


@pytest.fixture
def cards() -> Iterator[list[RtlCard]]:
    nics = [PacketNic(CONFIG, tick_ps=TICK_PS) for _ in range(2)]
    yield [RtlCard(CONFIG, "pid", nic=nic) for nic in nics]
    for nic in nics:
        nic.close()


def test_messages_with_marks_are_as_the_golden_twin_has_them(
    cards: list[RtlCard], seed: int
) -> None:
    passed = practise(cards, _MESSAGES, seed)
    assert passed >= _MESSAGES * _FRAMES
    for card in cards:
        card.close()
    assert [card.differences for card in cards] == [[], []]
    events = [card.device.packet.counters()["events"] for card in cards if card.device.packet]
    assert sum(row["cnp_sent"] for row in events)
    assert [row["icrc_bad"] for row in events] == [0, 0]


def test_a_frame_out_of_turn_is_a_difference(cards: list[RtlCard]) -> None:
    card = cards[0]
    card.transmit(_ARP, 0)
    assert not card.differences
    nic = card.device.transport
    assert isinstance(nic, PacketNic)
    nic.block.run({"s_axis_tx": [Wire(_ARP)]}, [], settle=100)  # it stays inside: nobody takes it
    card.close()
    stray, counters = card.differences
    assert stray.startswith("out of turn: golden [], RTL [b'")
    assert counters.startswith("counters: golden {")


def test_another_frame_than_the_twin_has_is_a_difference(
    cards: list[RtlCard], monkeypatch: pytest.MonkeyPatch
) -> None:
    card = cards[0]
    run = PacketNic.run

    def wrong(nic: PacketNic, *args: object, **options: object) -> object:
        made = run(nic, *args, **options)  # type: ignore[arg-type]
        frames = made.sinks["m_axis_tx"].frames
        frames[:] = [Wire(wire.data[:-1] + b"\1") for wire in frames]
        return made

    monkeypatch.setattr(PacketNic, "run", wrong)
    card.transmit(_ARP, 0)
    assert len(card.differences) == 1
    assert card.differences[0].startswith("sent: golden ")
