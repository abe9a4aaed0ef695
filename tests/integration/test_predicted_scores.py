"""Predicted scores in packets, forecasts of profiles: the whole NIC in RTL and the golden one."""

import itertools
import random
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from precog_host.driver.packet import PacketDriver
from precog_models.image import pretrained
from precog_models.packet.shim import decode
from precog_models.predict.carried import CarriedScores
from precog_models.predict.lstm import pack
from precog_models.predict.tree_model import pack_tree
from precog_sim.rtl.packet_block import Run
from precog_spec.carried import CarriedKind
from precog_spec.contract import NO_SCORE, HeadKind, QueueEvent, TraceKind

from ..models.packet.frames import packet
from ..models.predict.trees import random_tree
from ..models.predict.weights import random_weights
from .packet_bench import CONFIG, SHIM_AT, Pair, arm, open_pair, same_numbers

pytestmark = [pytest.mark.cosim, pytest.mark.xdist_group("packet_nic")]

_RTT, _QUEUE = 0, 1  # slots of the model map


@pytest.fixture(params=["lstm", "relaxed", "tree"])
def pair(request: pytest.FixtureRequest, volume: int) -> Iterator[Pair]:
    """Queue models are LSTMs; a relaxed NIC and one with trees are built with ``--volume`` only."""
    form = request.param
    if form != "lstm" and volume == 1:
        pytest.skip(f"the NIC of form {form} is built with --volume only")
    with open_pair(replace(CONFIG, tree=form == "tree", relaxed=form == "relaxed")) as both:
        yield both


class Scores:
    """What both devices carry; while no score ages the golden model replays the RTL's log."""

    def __init__(self, pair: Pair, seed: int) -> None:
        self.pair = pair
        self.rng = random.Random(seed)
        self.replay = CarriedScores(CONFIG.qps)
        self.follows = False  # only while nothing happens between the runs that are watched
        self._psn = 0
        rng = np.random.default_rng(seed)
        if pair.emulator.sizes.tree:
            queue = pack_tree(random_tree(rng, depth=6, steps=3, version=9))
        else:
            weights = random_weights(rng, inputs=4, steps=3, outputs=7)
            queue = pack(replace(weights, kind=HeadKind.QUEUE, version=9))
        arm(pair)
        for device in (pair.rtl, pair.golden):
            device.model.load(pretrained(), slot=_RTT)
            device.model.write_set(_QUEUE, queue)
            device.model.map_slot(_QUEUE, _QUEUE)
            device.qp(1).configure(
                preset="precog", enable=True, algorithm="predpid", model_slot=_RTT
            )
            device.set_parameters(skill_monitor=0)  # RTTs by chance: no model has skill
            forecasting = device.forecast
            assert forecasting is not None
            forecasting.configure(1, model_slot=_QUEUE)
            forecasting.set_parameters(rtt_budget_us=0.2, threshold_bin=2)
            assert device.profiler is not None
            device.profiler.set_parameters(every=1)
            assert device.trace is not None
            device.trace.configure(kinds=["decision", "forecast"])
        self.set_age(0.0)

    def paths(self) -> tuple[PacketDriver, PacketDriver]:
        return self.pair.paths()

    def set_age(self, us: float) -> None:
        for device in (self.pair.rtl, self.pair.golden):
            assert device.forecast is not None
            device.forecast.set_parameters(carry_age_us=us)

    def source(self, name: str) -> None:
        for path in self.paths():
            path.set_score(1, 37, source=name)
        self.replay = CarriedScores(CONFIG.qps)
        self.follows = True

    def follow(self, *runs: Run) -> None:
        """In these runs the RTL's commits are those of the golden model, one of them a score."""
        made = 0 if self.follows else 1
        for event, result in (commit for run in runs for commit in self.pair.nic.carried(run)):
            if not self.follows:
                break
            kind = CarriedKind(event["kind"])
            done = self.replay.happen(
                kind,
                event["qp"],
                event["t"],
                score=event["score"],
                source=event["source"],
                queue_live=bool(event["queue_live"]),
                rtt_live=bool(event["rtt_live"]),
            )
            score = 0 if done.score == NO_SCORE else done.score + 1
            assert result == {"put": done.put, "score": score, "expired": done.expired}
            made += kind is not CarriedKind.VISIT
        assert made == 1

    def sample(self) -> None:
        """A round trip, of a length by chance; then the score that goes out."""
        psn, pair = self._psn, self.pair
        self._psn += 1
        pair.transmit(packet(bytes(self.rng.randrange(64)), psn=psn, bth={"ackreq": 1}))
        pair.nic.block.tick(self.rng.randrange(1500))
        pair.receive(packet(opcode=0x11, psn=psn, back=True, aeth={"syndrome": 0x1F, "msn": psn}))
        self.follow(pair.nic.last, pair.nic.run())  # a model's first answer takes a run's rest

    def profile(self) -> None:
        """An event of the send queue and its forecast."""
        pair, emulator = self.pair, self.pair.emulator
        assert emulator.profiler is not None
        assert emulator.forecasts is not None
        made: list[tuple[int, ...]] = []
        emulator.forecasts.use = lambda answer: made.append(tuple(answer.tolist()))
        kind = self.rng.choice([QueueEvent.ARRIVAL, QueueEvent.DEPARTURE])
        size = self.rng.randrange(1, 1 << self.rng.randrange(1, 20))
        t = self.paths()[0].ticks()
        with pair.nic.happening(kind, 1, size, t):
            pair.nic.block.tick()
        emulator.profiler.observe(1, kind, size, t)
        runs = [pair.nic.run() for _ in range(4)]  # relaxed, a profile takes some 200 cycles
        assert [answer for run in runs for answer in pair.nic.forecasts(run)] == made
        self.follow(*runs)
        assert len(made) == 1

    def traced(self) -> list[dict[str, int]]:
        """What both have recorded of decisions and forecasts, in the order in which they were."""
        rtl, golden = (device.trace for device in (self.pair.rtl, self.pair.golden))
        assert rtl is not None
        assert golden is not None
        records = [*rtl.drain()]
        assert records == [*golden.drain()]
        return records

    def sent(self) -> int | None:
        """The score of a packet that both send alike."""
        frame = self.pair.transmit(packet(bytes(9), psn=self._psn, bth={"ackreq": 0}))
        self._psn += 1
        _, shim, _ = decode(frame[SHIM_AT : SHIM_AT + 8])
        assert shim is not None
        return shim.score


@pytest.mark.parametrize("source", ["rtt", "queue", "max"])
def test_the_newest_score_goes_out(source: str, pair: Pair, seed: int) -> None:
    """Until it is too old, its model goes, or the host takes over; RTL and golden alike."""
    scores = Scores(pair, seed)
    assert scores.sent() == 37
    scores.set_age(1000.0)  # more than all of this takes: the golden card sees time pass in packets
    scores.source(source)
    assert [path.bindings()[0].score_source for path in scores.paths()] == [source] * 2
    assert scores.sent() is None
    told = set()
    for n in range(14):
        if source != "queue" and n % 3 < 2:
            scores.sample()
        if source != "rtt" and n % 3:
            scores.profile()
        told.add(scores.sent())
    assert told - {None}

    # The model goes; what the other one says stays.
    scores.follows = False
    gone = _QUEUE if source == "queue" else _RTT
    for device in (pair.rtl, pair.golden):
        device.model.map_slot(gone, gone, enable=False)
    left = scores.sent()
    assert (left is None) == (source != "max")
    for device in (pair.rtl, pair.golden):
        device.model.map_slot(gone, gone)
    assert scores.sent() == left
    (scores.profile if source == "queue" else scores.sample)()
    assert scores.sent() is not None

    # Time passes.
    scores.set_age(8.0)
    pair.nic.block.tick(6000)
    assert scores.sent() is None
    scores.source("host")
    assert scores.sent() == 37
    forecasts = [device.forecast for device in (pair.rtl, pair.golden)]
    rtl, golden = (one.counters() for one in forecasts if one is not None)
    assert golden["carried"] > 0
    assert golden["expired"] == 2
    if source == "max":  # of two scores the RTL sees one become too old after the other
        assert rtl["expired"] - golden["expired"] == rtl["carried"] - golden["carried"] in (0, 1)
        golden |= {name: rtl[name] for name in ("expired", "carried")}
    assert rtl == golden
    same_numbers(pair)
    kinds = [record["kind"] for record in scores.traced()]
    assert kinds.count(TraceKind.FORECAST) == golden["forecasts"]
    assert (source == "rtt") == (golden["forecasts"] == 0)


def test_a_forecast_is_traced_before_what_its_score_decides(pair: Pair, seed: int) -> None:
    """Only the RTL has sweeps, too, which make decisions of their own before a forecast."""
    scores = Scores(pair, seed)
    for device in (pair.rtl, pair.golden):
        device.set_parameters(psched="precog", psched_skill=0)
        device.qp(1).configure(psched=True, clear=False)
        assert device.forecast is not None
        device.forecast.configure(1, source="queue")
    scores.source("host")
    for _ in range(6):
        scores.profile()
    tracing = pair.rtl.trace
    assert tracing is not None
    records = [*tracing.drain()]
    told = [
        (one["score"], then["kind"], then["score"])
        for one, then in itertools.pairwise(records)
        if one["kind"] == TraceKind.FORECAST
    ]
    assert len(told) == 6
    assert told == [(score, TraceKind.DECISION, score) for score, _, _ in told]


def test_a_queue_pair_that_begins_anew_has_no_score(pair: Pair, seed: int) -> None:
    scores = Scores(pair, seed)
    for begin in ("clear", "disable", "row"):
        scores.source("rtt")
        scores.sample()
        assert scores.sent() is not None
        for device, path in zip((pair.rtl, pair.golden), scores.paths(), strict=True):
            if begin == "clear":
                device.qp(1).clear()
            elif begin == "disable":
                device.qp(1).configure(enable=False, clear=False)
                device.qp(1).configure(enable=True, clear=False)
            else:
                path.set_score(1, 12)
        assert scores.sent() is None
