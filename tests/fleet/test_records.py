"""Records: one spelling, exact round trips, and nothing that strangers write is believed."""

import json

import hypothesis
import pytest
from hypothesis import given
from hypothesis import strategies as st

from precog_fleet.assignments import Drift, Rollout
from precog_fleet.bodies import Membership, Report, Skill, Statistics, body_of
from precog_fleet.compact import expand, shrink
from precog_fleet.fields import PoisonError
from precog_fleet.records import (
    MAX_BODY_BYTES,
    MAX_FRAME_BYTES,
    Envelope,
    Record,
    canonical,
    open_envelope,
    parse_body,
    seal,
)
from precog_fleet.signing import verify

from .support import NOW, ROOT, key_of, record, sealed, stats

NAMES = st.from_regex(r"[a-z0-9][a-z0-9.:_-]{0,62}", fullmatch=True)
STATISTICS = st.builds(
    Statistics, **{name: st.integers(*bounds) for name, bounds in Statistics.BOUNDS.items()}
)
WORDS = st.integers(0, (1 << 32) - 1)
BODIES = {
    "dst": st.builds(Report, STATISTICS, WORDS, WORDS, st.binary(max_size=512)),
    "skill": st.builds(
        Skill, st.integers(1, 1 << 40), st.integers(0, 16_000_000), st.integers(0, 16_000_000)
    ),
    "member": st.builds(
        Membership,
        st.binary(min_size=32, max_size=32),
        st.sampled_from(["agent", "router", "trainer"]),
        st.booleans(),
    ),
    "rollout": st.builds(
        Rollout,
        st.integers(1, 1 << 20),
        st.binary(min_size=32, max_size=32).filter(any),
        st.just(0),
        st.just(bytes(32)),
        st.integers(0, 1000),
        WORDS,
    ),
    "drift": st.builds(
        Drift,
        st.integers(0, 1 << 20),
        st.integers(1, 1 << 40),
        st.integers(0, 16_000_000),
        st.integers(0, 16_000_000),
    ),
}


@st.composite
def records(draw: st.DrawFn) -> Record:
    prefix = draw(st.sampled_from(sorted(BODIES)))
    key = f"{prefix}/{draw(NAMES)}"
    t0 = draw(st.integers(0, 1 << 42))
    return Record(
        draw(NAMES),
        key,
        draw(st.integers(1, (1 << 53) - 1)),
        t0,
        t0 + draw(st.integers(1, body_of(key).MAX_LIFE_MS)),
        draw(BODIES[prefix]),
    )


@given(records())
def test_a_record_comes_back_as_it_was(given_: Record) -> None:
    frame = sealed(given_)
    envelope = open_envelope(frame)
    public = key_of(given_.origin).public
    assert verify(public, envelope.signature, envelope.message(ROOT.public))
    assert parse_body(envelope) == given_
    assert sealed(parse_body(envelope)) == frame  # one spelling


@given(records(), st.data())
def test_one_bit_and_the_signature_fails(given_: Record, data: st.DataObject) -> None:
    frame = bytearray(sealed(given_))
    bit = data.draw(st.integers(0, 8 * len(frame) - 1))
    frame[bit // 8] ^= 1 << bit % 8
    try:
        envelope = open_envelope(bytes(frame))
    except ValueError:
        return
    public = key_of(given_.origin).public
    assert not verify(public, envelope.signature, envelope.message(ROOT.public))


@given(st.binary(max_size=400))
def test_noise_is_refused(noise: bytes) -> None:
    with pytest.raises(ValueError, match=r"^(frame|origin|compressed data|data) must"):
        parse_body(open_envelope(noise))
    with pytest.raises(ValueError, match=r"^(compressed data|data) must"):
        parse_body(open_envelope(b"PFR1\x01a" + bytes(64) + b"x" + noise))


def test_another_fleet_has_other_signatures() -> None:
    envelope = open_envelope(sealed(record()))
    public = key_of("host0").public
    assert verify(public, envelope.signature, envelope.message(ROOT.public))
    assert not verify(public, envelope.signature, envelope.message(key_of("other").public))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": 1.0}, "without floats"),
        ({"version": 0}, "version must be in 1"),
        ({"version": True}, "version must be in 1"),
        ({"t1": NOW}, "t1 must be 1..3600000 ms after t0"),
        ({"t1": NOW + 3_600_001}, "t1 must be 1..3600000 ms after t0"),
        ({"key": "dst/"}, "key must be dst/…, skill/…, member/…, rollout/…, drift/…"),
        ({"key": "dst/Ä"}, "key must be"),
        ({"key": "dst/a/b"}, "key must be"),
        ({"key": "skill/x"}, "skill must have the fields"),
        ({"key": 3}, "key must be text"),
        ({"more": 1}, "report must have the fields"),
        ({"stats": None}, "statistics must have the fields"),
        ({"delta": "AB"}, "delta must be lower-case hexadecimal"),
        ({"delta": "00" * 513}, "delta must have at most 512 bytes"),
    ],
)
def test_bodies_out_of_bounds(change: dict[str, object], message: str) -> None:
    data = {"key": "dst/a", "version": 1, "t0": NOW, "t1": NOW + 1, **Report(stats()).plain()}
    text = json.dumps(data | change, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    with pytest.raises(ValueError, match=message):
        parse_body(Envelope("host0", b"", shrink(text.encode())))


@pytest.mark.parametrize("text", [b"[]", b"{", b'{"a":1,"a":1}', b'{ "a":1}', b"[" * 4000])
def test_text_that_is_not_canonical(text: bytes) -> None:
    with pytest.raises(ValueError, match="body must be"):
        parse_body(Envelope("host0", b"", shrink(text)))


@pytest.mark.parametrize("value", [float("nan"), 0.5, -1, True, None, "1", 1 << 70])
@pytest.mark.parametrize("name", list(Statistics.BOUNDS))
def test_poisoned_statistics(name: str, value: object) -> None:
    with pytest.raises(PoisonError, match=rf"{name} must be an integer in 0\.\."):
        stats(**{name: value})  # type: ignore[arg-type]


def test_what_expands_is_bounded() -> None:
    bomb = shrink(bytes(100_000_000))
    assert len(bomb) < 10_000
    with pytest.raises(ValueError, match="at most 4096 bytes, not 100000000"):
        expand(bomb, MAX_BODY_BYTES)
    with pytest.raises(ValueError, match="one zstd frame"):
        expand(shrink(b"x") + b"y", 10)


def test_floats_have_no_spelling() -> None:
    with pytest.raises(ValueError, match="data must be JSON without floats"):
        canonical({"a": 0.5})


@hypothesis.settings(max_examples=10)
@given(st.binary(min_size=512, max_size=512))
def test_the_largest_record_fits(delta: bytes) -> None:
    high = {name: high for name, (_, high) in Statistics.BOUNDS.items()}
    body = Report(Statistics(**high), (1 << 32) - 1, (1 << 32) - 1, delta)
    largest = record("h" * 63, "dst/" + "d" * 63, (1 << 53) - 1, body=body)
    assert len(seal(largest, key_of("x"), ROOT.public)) < MAX_FRAME_BYTES
