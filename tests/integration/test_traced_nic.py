"""Decisions and forecasts in the trace of the whole NIC: RTL and golden device, word for word."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from precog_host import cli
from precog_host.device import Device
from precog_host.driver.trace import TraceDriver
from precog_host.emulator.device import Emulator
from precog_models.image import pretrained
from precog_models.predict.lstm import pack
from precog_sim.rtl.transport import RtlTransport
from precog_spec.contract import NO_SCORE, TRACE_WORDS, HeadKind, TraceKind
from precog_spec.registers.trace import TRACE_BATCH, TRACE_DEPTH

from ..models.predict.weights import random_weights
from .traced_cards import opened, traffic

pytestmark = [pytest.mark.cosim, pytest.mark.xdist_group("traced")]

QPS = (0, 1, 2)
PERIOD_US = 6.0


class Cards:
    """Both devices with the same models, laws and traffic."""

    def __init__(self, rtl: Device, golden: Device, seed: int) -> None:
        self.devices = (rtl, golden)
        made = random_weights(np.random.default_rng(seed), inputs=4, steps=3, outputs=5)
        image = pack(replace(made, kind=HeadKind.QUEUE, version=103))
        self._traffic = [traffic(device, QPS, seed) for device in self.devices]
        for device in self.devices:
            assert device.profiler is not None
            assert device.forecast is not None
            device.profiler.set_parameters(period_us=PERIOD_US)
            device.model.load(pretrained("queue-4rtt"), slot=1, set=5, queue=True)
            device.model.write_set(4, image)
            device.model.map_slot(2, 4)
            for qp in (0, 1):  # queue pair 2 has no model
                device.forecast.configure(qp, model_slot=1 + qp)
            device.forecast.set_parameters(threshold_bin=2)

    @property
    def tracings(self) -> tuple[TraceDriver, TraceDriver]:
        rtl, golden = (device.trace for device in self.devices)
        assert rtl is not None
        assert golden is not None
        return rtl, golden

    def run(self, periods: int) -> None:
        """The golden device forecasts in the order of the RTL."""
        rtl, golden = self._traffic
        told, telling = self.devices[0].transport, self.devices[1].transport
        assert isinstance(told, RtlTransport)
        assert isinstance(telling, Emulator)
        assert told.told_queues is not None
        assert telling.profiler is not None
        for _ in range(periods):
            rtl.run(1)
            order = told.told_queues.order
            telling.profiler.order = [*order, *({*range(self.devices[0].sizes.qps)} - {*order})]
            golden.run(1)

    def words(self) -> list[tuple[int, ...]]:
        """The window on the oldest records; both devices show the same words."""
        shown = [
            [
                tuple(
                    device.registers.entry("TRACE", "RECORDS", n, f"WORD{word}")[f"word{word}"]
                    for word in range(TRACE_WORDS)
                )
                for n in range(TRACE_BATCH)
            ]
            for device in self.devices
        ]
        assert shown[0] == shown[1]
        return shown[0]

    def drained(self) -> list[dict[str, int]]:
        states = [tracing.state() for tracing in self.tracings]
        assert states[0] == states[1]
        rtl, golden = ([*tracing.drain()] for tracing in self.tracings)
        assert rtl == golden
        assert len(rtl) == states[0].level
        return rtl


@pytest.fixture
def cards(seed: int) -> Iterator[Cards]:
    with opened() as (rtl, golden):
        yield Cards(rtl, golden, seed)


def test_both_devices_record_the_same_words(cards: Cards) -> None:
    """Of live models, of one that is remapped, of none; of a kind, a queue pair, every third."""
    cards.run(1)
    assert cards.words() == [(0,) * TRACE_WORDS] * TRACE_BATCH  # nothing is recorded after reset
    for tracing in cards.tracings:
        tracing.configure(kinds=["decision", "forecast"])
    cards.run(45)  # more than a wave
    assert (0,) * TRACE_WORDS not in cards.words()
    both = cards.drained()
    forecasts = [one for one in both if one["kind"] == TraceKind.FORECAST]
    assert len(both) - len(forecasts) == 45 * len(QPS)
    assert [one["serial"] for one in both] == list(range(len(both)))
    of = {qp: [one for one in forecasts if one["qp"] == qp] for qp in QPS}
    assert {(one["set"], one["version"]) for one in of[0]} == {(5, 1)}
    assert {(one["set"], one["version"]) for one in of[1]} == {(4, 103)}
    assert {(one["set"], one["version"], one["probability"]) for one in of[2]} == {(0, 0, 0)}
    assert {one["score"] for one in of[2]} == {NO_SCORE}
    assert NO_SCORE not in {one["score"] for one in of[0]}
    assert len({one["probability"] for one in of[0]}) > 3
    assert all(len({one[f"x{n}"] for one in of[0]}) > 3 for n in range(4))

    for device in cards.devices:
        device.model.map_slot(1, 4)  # the other queue pair's model
    for changes in ({"kinds": ["forecast"], "qp": 0}, {"all_qps": True, "every": 3}):
        for tracing in cards.tracings:
            tracing.configure(**changes)  # type: ignore[arg-type]
        cards.run(9)
        made = cards.drained()
        assert {one["kind"] for one in made} == {TraceKind.FORECAST}
        assert len(made) == 9
        assert {(one["set"], one["version"]) for one in made if one["qp"] == 0} == {(4, 103)}


def test_what_finds_no_room_is_lost_whole_and_counted(cards: Cards) -> None:
    """The trace of both overflows at the same record; serials and counters tell of it."""
    for tracing in cards.tracings:
        tracing.configure(kinds=["decision", "forecast"], threshold=TRACE_DEPTH)
    lost = 0
    while not lost:
        cards.run(20)
        lost = cards.tracings[0].state().counters["overflowed"]
    kept = cards.drained()
    assert [one["serial"] for one in kept] == list(range(TRACE_DEPTH))
    counters = cards.tracings[0].state().counters
    assert counters == {"recorded": TRACE_DEPTH, "filtered": 0, "overflowed": lost}
    cards.run(1)
    after = cards.drained()
    assert after[0]["serial"] == TRACE_DEPTH + lost
    assert {one["kind"] for one in after} == {TraceKind.DECISION, TraceKind.FORECAST}


def test_the_command_reads_the_same_from_both(
    cards: Cards, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = []
    for tracing in cards.tracings:
        tracing.configure(kinds=["decision", "forecast"])
    cards.run(24)  # some queues are empty at first
    for number, device in enumerate(cards.devices):
        monkeypatch.setattr(Device, "open", lambda uri, device=device: device)
        monkeypatch.setattr(device, "close", lambda: None)
        path = tmp_path / f"{number}.jsonl"
        with pytest.raises(SystemExit) as caught:
            cli.main(("trace", "read", "-o", str(path)))
        assert not caught.value.code
        files.append(path.read_bytes())
    assert files[0] == files[1]
    assert files[0].count(b'"kind": "forecast"') > 2 * len(QPS)
