"""The demo: cards see the simulated queues, figures rest on telemetry, what must hold can fail."""

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from precog_fleet.clock import now_ms
from precog_fleet.demo import script, traffic
from precog_fleet.demo.figures import load_history
from precog_fleet.demo.hostility import Hostility
from precog_fleet.demo.lab import Lab
from precog_fleet.demo.script import FIRST, LATER, PACE, Demo, spoiled
from precog_fleet.demo.traffic import Replay, emulated, steps_of
from precog_fleet.demo.verdict import failures
from precog_fleet.demo.watch import Watch
from precog_fleet.errors import FleetError
from precog_fleet.modelset import ModelSet
from precog_fleet.telemetry import read_part
from precog_host import cli
from precog_models.data.queue_trace import profile
from precog_models.forecast.forecaster import Forecaster
from precog_models.forecast.metrics import crps
from precog_models.image import pretrained
from precog_spec.contract import PROBABILITY

from .test_evaluate import loop
from .windows import telemetry

SHIPPED = ModelSet(pretrained("queue-4rtt"))


def test_cards_see_the_queues_of_the_simulation(seed: int) -> None:
    runs = FIRST.runs(traffic.simulator(), 2, 3, seed % 1000, 400.0)
    period = runs[0][0].base_rtt
    golden = [profile(trace).occupancy for trace, _ in runs]
    emulator = emulated(2)
    assert emulator.profiler is not None
    card = Replay(emulator, range(2), period)
    for sender in range(3):  # the second and third begin with queues that the one before left
        card.switch(steps_of(runs, sender))
        for k in range(golden[0].shape[1] - 1):
            card.run(1)
            for qp in range(2):
                seen = emulator.profiler.profiler.read(qp)["occupancy"]
                assert seen == golden[qp][sender, k], (sender, qp, k)
    assert max(queues.max() for queues in golden) > 0


def test_traffic_that_ends_says_so(seed: int) -> None:
    runs = LATER.runs(traffic.simulator(), 2, 2, seed % 1000, 400.0)
    card = Replay(emulated(2), range(2), runs[0][0].base_rtt)
    card.switch(steps_of(runs, 0))
    with pytest.raises(FleetError, match="traffic has ended before the demo has"):
        card.run(1000)


class _Slow:
    """A lab whose turns take 100 s each; each of the first three has an event."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self.seconds = 0.0

    def monotonic(self) -> float:
        return self.seconds

    def turn(self, _periods: int | None) -> list[str]:
        self.seconds += 100.0
        told = [f"event {len(self.events)}"] if len(self.events) < 3 else []
        self.events += [{"what": event} for event in told]
        return told


def test_a_step_may_be_long_while_something_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    slow = _Slow()
    monkeypatch.setattr(script, "time", slow)
    demo: Any = Demo.__new__(Demo)
    demo.lab, demo._count, demo._say = slow, 20, lambda _: None
    message = r"the release must come within 900 s of the last event \(event 2\): give fewer"
    with pytest.raises(FleetError, match=message):
        demo._until("the release", lambda: False)
    assert slow.seconds == 1300.0


def test_without_a_simulator_the_remedy_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(traffic, "entry_points", lambda group: [])
    with pytest.raises(
        FleetError, match=r"traffic needs the simulator: pip install 'precog\[sim\]'"
    ):
        traffic.simulator()


def test_skill_is_that_of_telemetry(tmp_path: Path) -> None:
    for k in range(3):
        telemetry(tmp_path / f"t={k}", f"host{k}", k, model=SHIPPED.base)
    telemetry(tmp_path / "host9", "host9", 9)  # nothing ran there
    history = load_history([tmp_path], SHIPPED)
    assert {queue.origin for queue in history.queues} == {"host0", "host1", "host2"}
    assert history.t.min() > 2
    rows = sum(len(read_part(p)) for p in tmp_path.rglob("*.parquet") if "host9" not in str(p))
    assert len(history.t) == rows
    told = history.skill()
    assert told["value"] == pytest.approx(1 - history.score.sum() / history.reference.sum())
    assert told["low"] <= told["value"] <= told["high"]
    same = history.gain(SHIPPED)  # what ran, over itself
    assert (same["low"], same["value"], same["high"]) == (0.0, 0.0, 0.0)
    other = spoiled(SHIPPED, 1)
    p = Forecaster(other.base).distributions(history.signals) / PROBABILITY.one
    ratio = history.score.sum() / crps(p, history.bins).sum()
    assert history.gain(other)["value"] == pytest.approx(1 - ratio)
    assert ratio != 1
    middle = int(np.median(history.t))
    halves = [history.between(0, middle), history.between(middle, 1 << 60)]
    assert sum(len(half.t) for half in halves) == rows
    with pytest.raises(FleetError, match="hardly any does"):
        history.between(0, 1)


def test_lies_over_the_real_mesh_are_refused_by_all(tmp_path: Path, seed: int) -> None:
    runs = FIRST.runs(traffic.simulator(), 2, 3, seed % 1000, 40_000.0)
    with Lab(tmp_path / "fleet", 3, 2, runs[0][0].base_rtt, loop, PACE, asks=3) as lab:
        for n, card in enumerate(lab.cards.values()):
            card.switch(steps_of(runs, n))
        end = now_ms() + 30_000
        while not lab.connected():
            assert now_ms() < end
            lab.turn(0)
        watch = Watch(lab)
        while len(watch._seen) < 6 or not watch.converge_s()["reports"]:
            assert now_ms() < end
            lab.turn(4)
            watch.look()
        hostility = Hostility(lab, seed)
        hostility.send()
        while not hostility.arrived():
            assert now_ms() < end
            lab.turn(0)
        told = hostility.told()
        assert (told["accepted"], told["sent"]) == (0, 3 * len(hostility.frames))
        assert watch.bytes_per_agent_s() > 0
        assert watch.lost_of_cards() == {"trace": 0, "rows": 0}
        while watch.waiting or watch.lost_records():
            assert now_ms() < end
            lab.turn(0)
            watch.look()
        late = Watch(lab)
        late.look()
        assert late.converge_s()["reports"] == 0  # all were said before it began
        (name, key), version = next(iter(watch._seen.items()))
        watch._seen[name, key] = version + 2  # that nobody has heard of
        assert watch.lost_records() == 1


HELD: dict[str, Any] = {
    "skill": {"gain": {"low": 0.01}},
    "drift": {"gain": {"low": 0.1}},
    "lost_records": 0,
    "lost_of_cards": {"trace": 0, "rows": 0},
    "forged": {"sent": 9, "refused": 9, "accepted": 0},
    "converge_s": {"reports": 7},
    "bad_release_ran": False,
}


@pytest.mark.parametrize(
    ("place", "value", "text"),
    [
        (("skill", "gain", "low"), -0.01, "gain of skill must be above 0"),
        (("drift", "gain", "low"), float("nan"), "gain of drift must be above 0"),
        (("lost_records",), 2, "lost records must be 0, not 2"),
        (("lost_of_cards", "trace"), 3, "lost trace of cards must be 0, not 3"),
        (("forged", "accepted"), 1, "accepted forgeries must be 0, not 1"),
        (("forged", "refused"), 8, "refused forgeries must be 9, not 8"),
        (("converge_s", "reports"), 0, "reports must have reached all members"),
        (("bad_release_ran",), True, "bad release must run on no card"),
    ],
)
def test_whatever_does_not_hold_is_named(place: tuple[str, ...], value: Any, text: str) -> None:
    assert failures(HELD) == []
    found = copy.deepcopy(HELD)
    inner = found
    for name in place[:-1]:
        inner = inner[name]
    inner[place[-1]] = value
    (told,) = failures(found)
    assert told.startswith(text)


def test_a_folder_with_files_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(SystemExit) as caught:
        cli.main(["fleet", "demo", "--folder", str(tmp_path)])
    assert caught.value.code == 2
    said = capsys.readouterr().err
    assert said == f"error: folder must be new, but {tmp_path} has other files\n"
