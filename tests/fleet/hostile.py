"""What a hostile member or stranger sends: records that nobody may accept."""

import random
from collections.abc import Callable

from precog_fleet.bodies import Membership, Report
from precog_fleet.compact import shrink
from precog_fleet.outcome import Outcome
from precog_fleet.records import MAX_FRAME_BYTES, Envelope, canonical

from .support import MINUTE, NOW, ROOT, YEAR, key_of, membership, record, sealed, stats

__all__ = ["HOSTILE"]


def _signed(origin: str, text: bytes) -> bytes:
    """A frame of any text, with a signature that holds."""
    envelope = Envelope(origin, b"", shrink(text))
    signature = key_of(origin).sign(envelope.message(ROOT.public))
    return b"PFR1" + bytes((len(origin),)) + origin.encode() + signature + envelope.body


def _statistics(text: str) -> bytes:
    plain = canonical({"key": "dst/a", "version": 9, "t0": NOW, "t1": NOW + 1, **_REPORT})
    return _signed("host0", plain.replace(b'"mean":8000', b'"mean":' + text.encode()))


_REPORT = Report(stats()).plain()
_GENUINE = record(version=9)
#: Name: what a hostile member or stranger sends, and how everybody calls it.
HOSTILE: dict[str, tuple[Callable[[], bytes], Outcome]] = {
    "forged": (lambda: sealed(_GENUINE, key=key_of("mallory")), Outcome.FORGED),
    "tampered": (lambda: sealed(_GENUINE)[:-1] + b"\0", Outcome.FORGED),
    "in the name of another": (
        lambda: sealed(record("host1", version=9), key=key_of("host0")),
        Outcome.FORGED,
    ),
    "of a stranger": (lambda: sealed(record("mallory")), Outcome.STRANGER),
    "of a revoked member": (lambda: sealed(record("host19", version=9)), Outcome.REVOKED),
    "replayed": (lambda: sealed(record(version=2)), Outcome.STALE),
    "two of one version": (
        lambda: sealed(record(version=3, body=Report(stats(n=1)))),
        Outcome.CONFLICT,
    ),
    "expired": (lambda: sealed(record(version=9, t0=NOW - 3 * MINUTE)), Outcome.EXPIRED),
    "of the future": (lambda: sealed(record(version=9, t0=NOW + 2 * MINUTE)), Outcome.FUTURE),
    "wrong contract": (
        lambda: sealed(record(version=9, body=Report(stats(), contract=1))),
        Outcome.WRONG_CONTRACT,
    ),
    "wrong base": (
        lambda: sealed(record(version=9, body=Report(stats(), base_crc=8, delta=b"x"))),
        Outcome.WRONG_BASE,
    ),
    "oversized": (lambda: sealed(_GENUINE) + bytes(MAX_FRAME_BYTES), Outcome.OVERSIZED),
    "a bomb": (lambda: _signed("host0", bytes(1_000_000)), Outcome.MALFORMED),
    "NaN": (lambda: _statistics("NaN"), Outcome.MALFORMED),
    "infinity": (lambda: _statistics("Infinity"), Outcome.MALFORMED),
    "a fraction": (lambda: _statistics("0.5"), Outcome.MALFORMED),
    "negative": (lambda: _statistics("-1"), Outcome.POISONED),
    "out of bounds": (lambda: _statistics("1000000001"), Outcome.POISONED),
    "a membership by a member": (
        lambda: sealed(
            record(
                "host0",
                "member/mallory",
                life=YEAR,
                body=Membership(key_of("mallory").public, "agent"),
            )
        ),
        Outcome.FORBIDDEN,
    ),
    "an old membership": (lambda: membership("host19"), Outcome.STALE),
    "noise": (lambda: random.Random(1).randbytes(300), Outcome.MALFORMED),
}
