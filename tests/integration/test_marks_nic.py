"""Two cards in RTL: a mark on the way from A to B comes back to the law of A.

A is a NIC with a law engine, B a packet path that echoes marks: no NIC here is built with both.
"""

import pytest

from precog_host.device import Device
from precog_models.laws.compiler.compile import compile_law
from precog_models.laws.compiler.load import load
from precog_models.packet.card import CardConfig
from precog_models.packet.cps_state import CpsConfig
from precog_sim.backtoback.frames import with_ce
from precog_sim.rtl.card_pair import CardPair
from precog_spec.contract import DECISION_FIELDS
from precog_spec.law_fields import ACK_FIELDS

from ..models.packet.frames import A_ADDRESS, A_QP, B_QP, packet
from .law_cards import CONFIG, answer, arm, heard_alike
from .packet_bench import TICK_PS, Pair, open_pair
from .test_card import SLOTS, check

pytestmark = [pytest.mark.cosim, pytest.mark.xdist_group("law_packet_nic")]

SLOT = 1
MARKS_US = 1.0
#: Cycles that each packet waits between the cards: none, then a queue of 4 us.
WAITS = [0] * 12 + [2500] * 14
#: Packets that the queue marks.
MARKED = range(15, 21)
_RATE, _WINDOW = ([name for name, _ in DECISION_FIELDS].index(n) for n in ("rate", "window"))
_MARKED = [name for name, _ in ACK_FIELDS].index("marked")


def arm_marks(*devices: Device) -> None:
    """A connection whose law is lockstep, which is told from which delay switches mark."""
    arm(*devices, slots={SLOT: ("lockstep", 0)}, init_gbps=20.0)
    made = compile_law(load("lockstep"))
    values = made.law.integers("default", TICK_PS, marks=MARKS_US)
    for device in devices:
        assert device.law is not None
        device.law.load(made.program, values, slot=0)


def converse(pair: Pair, b: CardPair, *, marks: bool) -> tuple[list[int], list[tuple[int, ...]]]:
    """Packets of which the law heard that they were marked; and each rate and window."""
    arm_marks(pair.rtl, pair.golden)
    heard, decided = [], []
    for n, wait in enumerate(WAITS):
        frame = packet(bytes(1000), psn=n, bth={"ackreq": 1, "dqpn": B_QP + SLOT}, ip={"tos": 2})
        there = pair.transmit(frame)
        if marks and n in MARKED:
            there = with_ce(there)
        pair.nic.block.tick(wait)
        t = 10_000 * n
        assert b.receive(there, t, t).received.slot == SLOT
        pair.receive(b.transmit(answer(SLOT, n), t + 200, t + 200).frame)
        assert heard_alike(pair, SLOT)
        run = pair.nic.last
        heard += [n] * pair.nic.acknowledgements(run)[0][_MARKED]
        rows = pair.nic.decisions(run)
        assert len(rows) == 2  # of the acknowledgement, of the sample
        decided += [(row[_RATE], row[_WINDOW]) for row in rows]
    return heard, decided


def test_a_mark_between_two_cards_is_heard_by_the_law(seed: int) -> None:
    """RTL = golden, each frame and decision; only a queue that marks slows the law down."""
    runs = []
    for echoes, marks in ((True, True), (True, False), (False, True)):
        config = CardConfig(CpsConfig(echo_enabled=echoes), senders=True)
        b = CardPair.build(64, SLOTS, config, seed)
        b.add(SLOT, A_ADDRESS, A_QP + SLOT, B_QP + SLOT)
        with open_pair(CONFIG) as pair:
            runs.append(converse(pair, b, marks=marks))
        check(b)
    heard, (marked, unmarked, hidden) = zip(*runs, strict=True)
    assert heard == ([*MARKED], [], [])
    assert hidden == unmarked
    first = 2 * MARKED[0]
    assert marked[:first] == unmarked[:first]
    for slow, fast in zip(marked[first:], unmarked[first:], strict=True):
        assert slow[0] < fast[0] / 2
        assert slow[1] < fast[1]
