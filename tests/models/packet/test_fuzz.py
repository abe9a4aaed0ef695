"""Mutated frames through all stages: nothing raises, no byte outside the shim's fields moves."""

import random
from collections import Counter

from precog_models.packet.cnp import CnpConfig, NotificationPoint
from precog_models.packet.cps_rx import receive
from precog_models.packet.cps_tx import transmit
from precog_models.packet.icrc import icrc_ok
from precog_models.packet.parser import parse
from precog_spec.frames.cps import SHIM, Mode, ShimFault
from precog_spec.frames.descriptor import Direction, Reason

from .frames import card, mutate, synthetic


def other_version(frame: bytes) -> bytes:
    """A shim of a version that does not exist."""
    out = bytearray(frame)
    out[parse(frame, Direction.RX).bth - SHIM.size] ^= 0xF0
    return bytes(out)


def fuzz(seed: int, count: int) -> Counter[str]:
    """Run `count` frames, a third each: mode S there and back, mode R likewise, shims mutated."""
    rng = random.Random(seed)
    pool = [frame for frame in synthetic(rng).values() if len(frame) < 700]
    a, b = card("A"), card("B")
    ra, rb = card("A", mode=Mode.R), card("B", mode=Mode.R)
    shimmed = [transmit(a, frame, 0).frame for frame in pool]
    point = NotificationPoint(b.table, CnpConfig(interval_ticks=3))
    seen: Counter[str] = Counter()
    for n in range(count):
        if n % 3 == 2:
            frame = rng.choice(shimmed)
            # Chance alone hits the shim's version too seldom to count on it.
            frame = other_version(frame) if n % 60 == 2 else mutate(rng, frame)
            got = receive(b, frame)
            assert got.frame is not None
            if got.shim is None:
                assert got.frame == frame
            else:
                bth = got.parsed.bth
                assert got.frame[bth:] == frame[bth + 8 :]
                assert got.frame[: got.parsed.l3 + 2] == frame[: got.parsed.l3 + 2]
            seen[f"fault {got.fault.name}"] += 1
        else:
            frame = mutate(rng, rng.choice(pool))
            sender, receiver = (a, b) if n % 3 == 0 else (ra, rb)
            sent = transmit(sender, frame, n)
            seen[sent.reason.name] += 1
            got = receive(receiver, sent.frame)
            if sent.reason is not Reason.NONE:
                assert sent.frame == frame
            else:  # only what the receiver knows, too, comes back
                assert got.frame == (sent.frame if got.slot is None else frame)
            seen[f"fault {got.fault.name}"] += 1
        if got.frame is not None:
            cnp = point.notify(got.frame, got.parsed, got.slot, n)
            assert cnp is None or icrc_ok(cnp, parse(cnp, Direction.TX))
    seen["cnp"] = point.sent
    return seen


def test_fuzz(seed: int, volume: int) -> None:
    seen = fuzz(seed, 6000 * volume)
    for reason in (Reason.NONE, Reason.FRAGMENT, Reason.LENGTH, Reason.TRUNCATED):
        assert seen[reason.name] > 20
    for fault in set(ShimFault) - {ShimFault.TYPE}:
        assert seen[f"fault {fault.name}"] > 20
    assert seen["cnp"] > 20
