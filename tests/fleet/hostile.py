"""What a hostile member or stranger sends: records that nobody may accept."""

import random
from collections.abc import Callable

from precog_fleet.assignments import ALL, LIVE_KEY, Rollout
from precog_fleet.bodies import Membership, Report
from precog_fleet.compact import shrink
from precog_fleet.outcome import Outcome
from precog_fleet.records import MAX_FRAME_BYTES, Envelope, canonical, seal

from .support import MINUTE, NOW, ROOT, YEAR, key_of, membership, record, sealed, stats

__all__ = ["HOSTILE"]


def _signed(origin: str, text: bytes) -> bytes:
    """A frame of any text, with a signature that holds."""
    return _framed(origin, shrink(text))


def _framed(origin: str, body: bytes) -> bytes:
    envelope = Envelope(origin, b"", body)
    signature = key_of(origin).sign(envelope.message(ROOT.public))
    return b"PFR1" + bytes((len(origin),)) + origin.encode() + signature + envelope.body


def _plain() -> bytes:
    return canonical({"key": "dst/a", "version": 9, "t0": NOW, "t1": NOW + 1, **_REPORT})


def _statistics(text: str) -> bytes:
    return _signed("host0", _plain().replace(b'"mean":8000', b'"mean":' + text.encode()))


def _keyed(key: str) -> bytes:
    return _signed("host0", _plain().replace(b"dst/a", key.encode()))


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
    "two values of one field": (
        lambda: _statistics('8000,"mean":8000'),
        Outcome.MALFORMED,
    ),
    "another spelling": (lambda: _statistics(" 8000"), Outcome.MALFORMED),
    "digits of another script": (lambda: _statistics("\uff18"), Outcome.MALFORMED),
    "truth for a number": (lambda: _statistics("true"), Outcome.POISONED),
    "an endless number": (lambda: _statistics("9" * 1500), Outcome.POISONED),
    "nested without end": (lambda: _statistics("[" * 1500), Outcome.MALFORMED),
    "a path for a key": (lambda: _keyed("dst/../../etc"), Outcome.MALFORMED),
    "a look-alike for a key": (lambda: _keyed("dst/\u0430"), Outcome.MALFORMED),
    "half a character for a key": (lambda: _keyed("dst/\\ud800"), Outcome.MALFORMED),
    "a key of no kind": (lambda: _keyed("etc/passwd"), Outcome.MALFORMED),
    "a path for a name": (lambda: _signed("../host0", b"{}"), Outcome.STRANGER),
    "two bodies": (lambda: _framed("host0", 2 * shrink(_plain())), Outcome.MALFORMED),
    "a body cut short": (lambda: _framed("host0", shrink(_plain())[:-9]), Outcome.MALFORMED),
    "of another fleet": (
        lambda: seal(_GENUINE, key_of("host0"), key_of("other").public),
        Outcome.FORGED,
    ),
    "a rollout by an agent": (
        lambda: sealed(
            record("host0", LIVE_KEY, body=Rollout(1, bytes([1]) * 32, 0, bytes(32), ALL, 1))
        ),
        Outcome.FORBIDDEN,
    ),
    "noise": (lambda: random.Random(1).randbytes(300), Outcome.MALFORMED),
}
