"""Who sends to a card, and what is heard of it: the golden model against a list of packets."""

import random

import pytest

from precog_models.packet.card import Card, CardConfig
from precog_models.packet.parser import Descriptor
from precog_models.packet.senders import Senders, SendersConfig, level_of
from precog_models.packet.shim import Shim, decode, encode
from precog_spec.contract import Fmt
from precog_spec.frames.cps import EPOCH_LEAST, SHIM, ShimType
from precog_spec.frames.descriptor import Direction, Reason
from precog_spec.frames.opcodes import ANNOUNCED, ANNOUNCES, EXTENSIONS, NAMES, UNTOLD, WHOLE
from precog_spec.registers.senders import SENDERS_PARAMETERS

from .frames import A_ADDRESS, A_QP, B_ADDRESS, B_QP, SLOT4, packet

_SHIM_AT = 42


def _packet(opcode: int, payload: int = 64, announced: int = 0) -> Descriptor:
    return Descriptor(
        Direction.RX,
        error=False,
        shim=False,
        reason=Reason.NONE,
        opcode=opcode,
        payload=payload,
        dma_length=announced,
    )


def test_the_count_is_that_of_two_epochs(seed: int) -> None:
    rng = random.Random(seed)
    for epoch in (0, 6, 15):
        bits = EPOCH_LEAST + epoch
        senders = Senders(8)
        senders.config = SendersConfig(say=True, epoch=epoch)
        last: dict[int, int] = {}
        t = 1 << 39
        for _ in range(500):
            t += rng.choice((0, 1, 1 << bits, rng.randrange(3 << bits)))
            slot = rng.randrange(8)
            senders.arrived(slot, _packet(0x01), t & Fmt.TIME.max)
            last[slot] = t >> bits
            count = sum((t >> bits) - n <= 1 for n in last.values())
            assert senders.count(t & Fmt.TIME.max) == count
            assert senders.level(t & Fmt.TIME.max) == level_of(count)


def test_opcodes_with_data_are_sorted() -> None:
    """Each in one set; requests for data, answers without it, CNPs and strangers in none."""
    sets = (ANNOUNCES, ANNOUNCED, WHOLE, UNTOLD)
    assert sum(len(one) for one in sets) == len(frozenset().union(*sets))
    without = ("READ Request", "Acknowledge", "CmpSwap", "FetchAdd", "CNP")
    rest = {NAMES[op] for op in NAMES if not any(op in one for one in sets)}
    assert all(name.endswith(without) for name in rest)
    reth = {op for op, headers in EXTENSIONS.items() if any(h.name == "RETH" for h in headers)}
    assert {op for op in reth if "Request" not in NAMES[op]} == ANNOUNCES


def test_a_write_counts_by_its_announced_length() -> None:
    senders = Senders(2)
    senders.config = SendersConfig(least=1000)
    for announced, counts in ((999, 0), (1000, 1)):
        senders.reset(0)
        senders.arrived(0, _packet(0x06, 64, announced), 0)
        senders.arrived(0, _packet(0x07, 4096), 0)
        assert senders.count(0) == counts
    senders.reset(0)
    senders.arrived(0, _packet(0x07, 4096), 0)  # of a message whose first packet nobody saw
    senders.arrived(0, _packet(0x04, 999), 0)
    senders.arrived(0, _packet(0x00, 0), 0)
    assert senders.count(0) == 0
    senders.arrived(0, _packet(0x10, 1000), 0)
    assert senders.count(0) == senders.joined - 1 == 1


def test_a_rise_is_heard_once_and_again_after_the_hold() -> None:
    senders = Senders(2)
    assert senders.told(0, 5, 0) is None  # not heeded
    senders.config = SendersConfig(heed=True, hold=100 << 10)
    step = 1 << 10
    story = [
        *((4, 0, 4), (4, 1, None), (2, 2, None), (5, 3, 5), (4, 4, None)),
        # 101 steps after the rise the level in force is the one that comes; then it may rise.
        *((4, 103, None), (4, 104, 4), (4, 104, None), (5, 105, 5)),
        *((0, 300, 0), (0, 501, None), (3, 502, 3)),
    ]
    assert [senders.told(0, level, t * step) for level, t, _ in story] == [s[2] for s in story]
    assert senders.said(0) == 3
    assert senders.told(1, 1, 301 * step) == 1
    assert (senders.heard, senders.risen) == (len(story) + 1, 5)
    senders.reset(0)
    assert senders.told(0, 1, 301 * step) == 1


def test_a_belief_is_heard_and_the_next_word_replaces_it() -> None:
    senders = Senders(4)
    assert senders.believe(0, 3, 0) is None  # not heeded
    senders.config = SendersConfig(heed=True, hold=100 << 10)
    for word, heard in ((3, None), (1, 1), (0, 0), (5, 5)):
        assert senders.believe(0, 3, 0) == 3
        assert senders.said(0) == 3
        assert senders.told(0, word, 1) == heard
        assert senders.said(0) == word
        assert senders.told(0, 2, 2) == (2 if word < 2 else None)  # held as ever
        senders.reset(0)
    assert senders.told(1, 4, 0) == 4
    assert senders.believe(1, 4, 1) is None
    assert senders.believe(1, 2, 1) == 2
    for slot in range(3):
        senders.sent(slot, _packet(0x01), 0)
    assert senders.believe(2, 2, 0) is None  # three flows of its own
    assert senders.believe(2, 3, 0) == 3
    assert (senders.outnumbered, senders.heard) == (0, 9)


def test_another_epoch_begins_with_nobody() -> None:
    senders = Senders(2)
    senders.arrived(0, _packet(0x01), 0)
    senders.sent(1, _packet(0x01), 0)
    senders.config = SendersConfig(least=1)
    assert senders.count(0) == senders.own(0) == 1
    senders.config = SendersConfig(epoch=2)
    assert senders.count(0) == senders.own(0) == 0


@pytest.mark.parametrize("own", range(17))
def test_a_level_is_0_where_the_own_flows_are_more_than_half(own: int) -> None:
    """As simulated hosts have it: ``1 << level < 2 * own``."""
    for level in range(16):
        for compares in (True, False):
            senders = Senders(16)
            senders.config = SendersConfig(heed=True, own=compares)
            for slot in range(own):
                senders.sent(slot, _packet(0x01), 0)
            assert (senders.own(0), senders.count(0)) == (own, 0)
            zero = compares and 1 << level < 2 * own
            told = 0 if zero else level
            assert senders.told(0, level, 0) == (told or None)
            assert senders.said(0) == told
            assert senders.outnumbered == (zero and level > 0)


def test_own_flows_are_those_of_whole_frames_to_the_wire() -> None:
    card = Card(8, CardConfig(senders=True))
    card.add(SLOT4, B_ADDRESS, B_QP, A_QP)
    assert card.senders is not None
    data = packet(bytes(64), opcode=1)
    card.transmit(data, 5, 5, error=True)
    card.transmit(packet(bytes(64), opcode=1, bth={"dqpn": 8}), 5, 5)  # of no queue pair
    card.transmit(packet(opcode=0x0C, bth={}, payload=bytes(16)), 5, 5)  # asks for data
    assert card.senders.own(5) == 0
    card.transmit(data, 5, 5)
    assert (card.senders.own(5), card.senders.count(5)) == (1, 0)
    card.reset(SLOT4)
    assert card.senders.own(5) == 0


def test_shims_say_it_only_if_told_to() -> None:
    config = CardConfig(senders=True)
    a, b = Card(8, config), Card(8, config)
    a.add(SLOT4, B_ADDRESS, B_QP, A_QP)
    b.add(SLOT4, A_ADDRESS, A_QP, B_QP)
    b.add(0, A_ADDRESS, 7, 8)
    for frame in (packet(bytes(64), opcode=1), packet(bytes(64), opcode=1, bth={"dqpn": 8})):
        assert b.senders is not None
        b.receive(frame, 5, 5)
    assert b.senders.count(5) == 2
    ack = packet(opcode=0x11, back=True, aeth={"syndrome": 0x1F, "msn": 1})
    for say in (False, True):
        b.senders.config = SendersConfig(say=say)
        b.senders.arrived(SLOT4, _packet(1), 5)
        b.senders.arrived(0, _packet(1), 5)
        sent = b.transmit(ack, 6, 6).frame
        shim = decode(sent[_SHIM_AT : _SHIM_AT + SHIM.size])[1]
        assert shim == Shim(ShimType.ACKNOWLEDGE, senders=int(say))
        assert encode(shim) == sent[_SHIM_AT : _SHIM_AT + SHIM.size]
    a.transmit(packet(bytes(64), bth={"ackreq": 1}), 1, 1)
    assert a.senders is not None
    a.senders.config = SendersConfig(heed=True)
    assert a.receive(sent, 7, 7).senders == 1


@pytest.mark.parametrize(("name", "value"), [("epoch", 16), ("least", -1), ("hold", 1 << 32)])
def test_what_does_not_fit_is_refused(name: str, value: int) -> None:
    with pytest.raises(ValueError, match=rf"{name} must be 0\.\.\d+, not {value}"):
        SendersConfig(**{name: value})  # type: ignore[arg-type]


def test_registers_are_the_model_s() -> None:
    resets = {f.name: f.reset for register in SENDERS_PARAMETERS for f in register.fields}
    assert resets == {name: int(value) for name, value in vars(SendersConfig()).items()}
