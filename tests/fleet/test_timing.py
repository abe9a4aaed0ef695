"""Members speak less often the more of them there are."""

from precog_fleet.bodies import Skill
from precog_fleet.observing import Observer, Scale
from precog_fleet.timing import Cadence, Due, Timing
from precog_spec.contract import Flag, TraceKind

from .support import NOW, record, sealed, store


def test_reporters_of_a_destination_share_sixteen_records_a_second() -> None:
    names = [f"host{n}" for n in range(40)]
    held = store(*names)
    cadence = Cadence(Timing(), held, "host0")
    assert cadence.every("dst/a") == 1000
    for count, every in ((16, 1000), (17, 1063), (40, 2500)):
        for name in names[held.voices("dst/a") : count]:
            held.receive(sealed(record(name, "dst/a")), NOW)
        assert held.voices("dst/a") == count
        assert cadence.every("dst/a") == every
    assert cadence.every("dst/b") == 1000
    assert cadence.due_at("dst/a") == 0
    assert cadence.due("dst/a", NOW)
    due = cadence.due_at("dst/a")
    assert 1875 <= due - NOW <= 3125
    assert [cadence.due("dst/a", at) for at in (due - 1, due)] == [False, True]
    assert cadence.due("dst/a", NOW)  # the clock was set back
    assert cadence.due("dst/b", NOW)


def test_members_share_two_hundred_records_a_second_of_each_kind() -> None:
    cadence = Cadence(Timing(), store(*(f"host{n}" for n in range(500))), "host0")
    every = [cadence.every(f"{kind}/x") for kind in ("health", "skill", "drift")]
    assert every == [2500, 2500, 10_000]
    assert [cadence.life(f"{kind}/x") for kind in ("health", "skill")] == [30_000, 600_000]
    slow = Cadence(Timing(report=20_000), store(), "host0")
    assert slow.life("health/x") == 60_000


def test_members_that_start_together_do_not_speak_together_for_ever() -> None:
    held = store(*(f"host{n}" for n in range(500)))
    moments = set()
    for n in range(40):
        cadence = Cadence(Timing(), held, f"host{n}")
        at = NOW
        for _ in range(20):
            assert cadence.due(f"health/host{n}", at)
            at = cadence.due_at(f"health/host{n}")
        assert 20 * 2300 < at - NOW < 20 * 2700
        moments.add(at // 500)
    assert len(moments) > 8


def test_life_is_never_longer_than_a_record_may_last() -> None:
    """A fleet as large as a store lets it be."""
    cadence = Cadence(Timing(), store(), "host0")
    cadence._store.members = dict.fromkeys(map(str, range(200_000)))  # type: ignore[arg-type]
    assert cadence.life("health/x") <= 3_600_000
    assert cadence.life("skill/r1") <= Skill.MAX_LIFE_MS


def test_a_clock_set_back_is_no_reason_to_wait() -> None:
    due = Due()
    assert [due("x", at, 10) for at in (100, 105, 90)] == [True, False, True]


def test_what_is_not_due_is_kept_for_later() -> None:
    observer = Observer(Scale(6000, 1000, (0,) * 4, (0,) * 4), {0: "a", 1: "b"})
    decision = {"kind": TraceKind.DECISION, "qp": 0, "t": 1, "rate": 1, "flags": 0, "rtt": 8000}
    assert not decision["flags"] >> Flag.EVENT & 1
    for qp in (0, 1):
        observer._decision(decision | {"qp": qp})
    assert observer.seen() == {"a", "b"}
    assert list(observer.statistics(["a", "c"])) == ["a"]
    assert observer.seen() == {"b"}
    observer._decision(decision | {"qp": 1, "rtt": 10_000})
    assert observer.statistics(["b"])["b"].mean == 9000
    assert not observer.seen()
