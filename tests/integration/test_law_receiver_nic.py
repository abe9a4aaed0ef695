"""A NIC with packets, a law engine and the receiver's block: programs hear levels and commands."""

import random
from dataclasses import replace

import pytest

from precog_models.packet.card import Card, CardConfig
from precog_models.packet.senders import SendersConfig
from precog_spec.law_fields import LEVEL_ALONE, SENDERS_AT, EventKind

from ..models.packet.frames import A_ADDRESS, A_QP, B_QP, packet
from .law_cards import APART, CONFIG, HINTED, RELAXED, answer, arm, same, scored_cnp
from .packet_bench import TICK_PS, open_pair

pytestmark = [pytest.mark.cosim, pytest.mark.xdist_group("law_packet_nic")]


@pytest.mark.parametrize("relaxed", [False, True])
def test_levels_and_the_receiver_s_scores(relaxed: bool, seed: int, volume: int) -> None:
    """With the receiver's block a level is an event of its own, and commands bear it, too.

    Packets ask for no ACK: the order of a sample and a command is a matter of cycles.
    """
    if volume == 1:
        pytest.skip("only with --volume: a library takes a minute to build")
    rng = random.Random(seed)
    with open_pair(replace(RELAXED if relaxed else CONFIG, receiver=True)) as pair:
        arm(pair.rtl, pair.golden, slots=HINTED, init_gbps=100.0)
        for device in (pair.rtl, pair.golden):
            assert device.senders is not None
            assert device.receiver is not None
            device.senders.set_parameters(heed=True)
            device.receiver.set_parameters(score_us=0.0)  # scores do not age
        peer = Card(4, CardConfig(tick_ps=TICK_PS, senders=True))
        assert peer.senders is not None
        for slot in range(4):
            peer.add(slot, A_ADDRESS, A_QP + slot, B_QP + slot)
        seen = set()
        for psn in range(12 * volume):
            slot, level = rng.choice(list(HINTED)), rng.choice((0, 1, 2))
            peer.senders.config = SendersConfig(say=True, least=1, epoch=14 + psn % 2)
            frame = packet(bytes(1000), psn=psn, bth={"dqpn": B_QP + slot})
            sent = pair.transmit(frame, settle=APART)
            for n in range(1 << level):
                peer.receive(packet(bytes(9), psn=psn, bth={"dqpn": B_QP + n}), 20, 0)
            peer.receive(sent, 20, 0)
            peer.cps.slots[slot].score = rng.choice((None, 10, 60, 95))
            back = scored_cnp(slot, 70) if rng.random() < 0.3 else answer(slot, psn)
            pair.receive(peer.transmit(back, 20, 0).frame, settle=APART)
            events = [row for row in pair.nic.events(pair.nic.last) if row[0] == EventKind.SCORE]
            seen |= {divmod(row[3], 1 << SENDERS_AT) for row in events}
        alone = {level for level, score in seen if score == LEVEL_ALONE}
        assert max(alone) > 1
        assert max(level for level, score in seen if score != LEVEL_ALONE) > 1
        same(pair)
        counted = []
        for device in (pair.rtl, pair.golden):
            assert device.receiver is not None
            counted.append(device.receiver.counters())
        assert counted[0] == counted[1]
        assert sum(counted[0].values()) > 0
