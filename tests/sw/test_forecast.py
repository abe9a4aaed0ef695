"""Forecasts of a device through its registers: queue models, calibration, scores, refusals."""

import json
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

from precog_host.application import application
from precog_host.device import Device
from precog_host.emulator.device import Emulator
from precog_host.transport import DeviceError
from precog_models.forecast.forecaster import Forecaster
from precog_models.image import Image, pretrained
from precog_models.predict.cps import identity_knots
from precog_models.predict.forecast import FORECAST_CONFIG, FORECAST_PARAMETERS
from precog_models.predict.lstm import forward_windows
from precog_models.predict.softmax import distributions
from precog_spec.config import NicConfig
from precog_spec.contract import (
    CALIBRATION_KNOTS,
    FORECAST_FIELDS,
    NO_SCORE,
    Flag,
    HeadKind,
    QueueEvent,
    ScoreSource,
)
from precog_spec.law_fields import LEVEL_ALONE, SENDERS_AT, EventKind
from precog_spec.registers.forecast import FORECAST_PAIR, KNOT_STRIDE
from precog_spec.registers.identity import Identity
from precog_spec.registers.precog import build_map
from precog_studies.prediction.starts.predictors import MODELS

SIZES = NicConfig(qps=4, sets=4, forecast=True)
QUEUE = "queue-1rtt"


@pytest.fixture
def emulator() -> Emulator:
    return Emulator(SIZES)


@pytest.fixture
def device(emulator: Emulator) -> Device:
    return Device(emulator)


def test_names_and_sizes_are_the_golden_ones() -> None:
    fields = [f for register in FORECAST_PAIR for f in register.fields]
    assert tuple(field.name for field in fields) == FORECAST_CONFIG
    assert dict(fields[-1].values) == {one.name.lower(): one for one in ScoreSource}
    block = build_map(SIZES, Identity(0)).block("FORECAST")
    shared = [block.register(name).fields[0].name for name in ("THRESHOLD", "BUDGET")]
    assert tuple(shared) == FORECAST_PARAMETERS
    assert CALIBRATION_KNOTS <= KNOT_STRIDE


def test_forecasts_are_the_card_s(emulator: Emulator, device: Device, seed: int) -> None:
    rng = np.random.default_rng(seed)
    image = pretrained(QUEUE)
    loaded = device.model.load(image, slot=2, queue=True)
    assert device.forecast is not None
    device.forecast.configure(1, model_slot=2, source="queue")
    assert device.forecast.pair(1).model_slot == 2
    settings = Forecaster(image).settings
    assert device.forecast.knots(HeadKind.QUEUE).tolist() == settings.knots.tolist()
    assert device.forecast.knots(HeadKind.RTT).tolist() == identity_knots().tolist()
    device.set_parameters(psched_skill=0)
    device.qp(1).configure(preset="thesis", enable=True, algorithm="pid", psched=True)
    steps = image.weights.steps
    x = rng.integers(-8192, 8192, (steps + 3, 4))
    profiles = np.c_[np.ones(len(x), dtype=np.int64), np.arange(len(x)), x]
    answers = emulator.forecast(profiles)
    windows = np.zeros((len(x), steps, 8), dtype=np.int64)
    for n in range(len(x)):
        past = x[max(0, n + 1 - steps) : n + 1]
        windows[n, steps - len(past) :, :4] = past
    p = distributions(forward_windows(image.weights, windows), image.weights.outputs)
    forecaster = Forecaster(image)
    assert (answers[:, 2:18] == p).all()
    assert (answers[:, 18] == forecaster.scores(p)).all()
    assert (answers[:, 19] == loaded.version).all()
    counters = device.counters()
    assert counters["events"] == counters["scored"] == len(x)
    assert device.forecast.counters() == {
        "forecasts": len(x), "no_model": 0, "dropped": 0, "stale": 0, "wrong_head": 0,
        "carried": 0, "expired": 0,
    }  # fmt: skip


def test_scores_of_the_rtt_model_are_told(emulator: Emulator, device: Device) -> None:
    device.model.load(pretrained(), slot=0)
    assert device.forecast is not None
    device.forecast.set_parameters(rtt_budget_us=2.5)
    assert device.forecast.parameters()["rtt_budget_us"] == 2.5
    device.qp(0).configure(preset="thesis", enable=True, model_slot=0, psched=True)
    device.forecast.configure(0, source="rtt")
    samples = np.array([[0, 5000 + 10 * n, 5000 * n] for n in range(6)])
    assert len(device.decide(samples)) == 6  # those of events are not of samples
    assert device.counters()["events"] == 6
    assert device.counters()["decisions"] == 12
    device.forecast.configure(0, source="none")
    device.decide(samples)
    assert device.counters()["events"] == 6


def test_programs_hear_predicted_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without PSCHED, too; a score bears the level that was heard last, until a clear."""
    emulator = Emulator(replace(SIZES, law_cores=1))
    device = Device(emulator)
    assert device.forecast is not None
    device.model.load(pretrained(QUEUE), slot=2, queue=True)
    device.qp(1).configure(preset="precog", enable=True, algorithm="law:0")
    device.forecast.configure(1, model_slot=2, source="queue")
    level, cps = 3 << SENDERS_AT, [name for name, _ in FORECAST_FIELDS].index("cps")
    emulator.happen(np.array([EventKind.SCORE, 1, 900, LEVEL_ALONE | level]))
    heard: list[int] = []
    happen = emulator.nic.happen
    monkeypatch.setattr(
        emulator.nic, "happen", lambda *event: (heard.append(event[-1]), happen(*event))[1]
    )
    for t in (1000, 2000):
        made = emulator.forecast([[1, t, 300, 20, -100, 5]])
        assert heard.pop() == int(made[0, cps]) | level
        assert not heard
        device.qp(1).clear()
        level = 0
    assert device.counters()["events"] == 3


def test_heads_of_the_wrong_kind(emulator: Emulator, device: Device) -> None:
    queue = pretrained(QUEUE)
    with pytest.raises(DeviceError, match="model head must be rtt here, not queue: load it with"):
        device.model.load(queue)
    with pytest.raises(DeviceError, match="model head must be queue here, not rtt: load it"):
        device.model.load(pretrained(), queue=True)
    plain = Device(Emulator(NicConfig()))
    with pytest.raises(DeviceError, match="device makes no forecasts"):
        plain.model.load(queue, queue=True)
    with pytest.raises(DeviceError, match=r"queue: open a device with forecasts \(forecast=1\)"):
        plain.model.load(queue)
    # Mapped all the same, it counts as no model.
    device.model.load(queue, slot=1, queue=True)
    device.model.load(pretrained(), slot=2)
    assert device.forecast is not None
    device.qp(0).configure(preset="thesis", enable=True, algorithm="predpid", model_slot=1)
    device.forecast.configure(0, model_slot=2)
    (decision,) = device.decide(np.array([[0, 5000, 1]]))
    assert decision[7] >> Flag.NO_MODEL & 1
    (answer,) = emulator.forecast(np.array([[0, 1, 5, 6, 7, 8]]))
    assert (answer[18], answer[19], answer[2:18].any()) == (NO_SCORE, 0, False)
    counters = device.forecast.counters()
    assert (counters["wrong_head"], counters["no_model"]) == (2, 1)
    assert len(emulator.forecast(np.array([[3, 1, 5, 6, 7, 8], [9, 1, 5, 6, 7, 8]]))) == 0
    assert device.forecast.counters()["dropped"] == 2


def test_a_model_of_starts_runs_on_the_host(device: Device) -> None:
    """A device takes none: neither as a model of RTTs nor as one of queues."""
    starts = Image.load(MODELS / "lstm.safetensors")
    where = r"it is a model of starts, which runs on the host: precog qp follow --believe --model"
    for queue, said in (
        (False, "model head must be rtt here, not queue: "),
        (True, "queue model must have a calibration here: "),
    ):
        with pytest.raises(DeviceError, match=f"{said}without 'forecast' in its data card {where}"):
            device.model.load(starts, queue=queue)


def test_refusals(emulator: Emulator, device: Device) -> None:
    forecasting = device.forecast
    assert forecasting is not None
    for call, message in (
        (lambda: forecasting.pair(4), r"QP must be in 0\.\.3, not 4"),
        (lambda: forecasting.configure(0, model_slot=4), r"model slot must be in 0\.\.3, not 4"),
        (lambda: forecasting.configure(0, model_slot=1, off=True), "a model slot or none"),
        (lambda: forecasting.configure(0, source="x"), "score source must be one of none, queue"),
        (lambda: forecasting.set_parameters(threshold_bin=16), r"must be in 0\.\.15, not 16"),
        (lambda: forecasting.set_parameters(rtt_budget_us=0), "must be at least one tick, not 0"),
        (lambda: forecasting.set_knots(HeadKind.RTT, [2, 1]), "knots must be 65 numbers"),
        (lambda: emulator.forecast([[0, 1, 2]]), r"profiles must have shape \(n, 6\)"),
        (lambda: emulator.forecast([[0, 1, 2, 3, 4, 1 << 15]]), "x3 of profile 0 must be in"),
        (lambda: emulator.forecast([[0.5] * 6]), "profiles must be integers, not float64"),
        (
            lambda: NicConfig(laws=False, forecast=True),
            "forecast needs laws, which is off",
        ),
        (
            lambda: NicConfig(qps=65536, forecast=True),
            "qps must be at most 32768 with forecast, not 65536",
        ),
    ):
        with pytest.raises(ValueError, match=message):
            call()
    with pytest.raises(DeviceError, match="makes no forecasts"):
        Emulator(NicConfig()).forecast([[0] * 6])
    forecasting.configure(2, model_slot=3, source="max")
    forecasting.configure(2, off=True)
    assert (forecasting.pair(2).model_slot, forecasting.pair(2).source) == (None, "max")


def run_precog(*arguments: str) -> str:
    done = CliRunner().invoke(application(), list(arguments))
    assert done.exit_code == 0, done.output
    return done.output


def test_commands() -> None:
    uri = "emu:forecast=1,qps=4"
    shown = json.loads(
        run_precog("qp", "forecast", "set", "1", "--model-slot", "3", "-d", uri, "-j")
    )
    assert shown == [{"qp": 1, "model_slot": 3, "source": "none"}]
    noted = run_precog("qp", "forecast", "set", "1", "--source", "max", "-d", uri)
    assert "note: psched_cut is 1; " in noted
    assert "precog cc param set --psched queues" in noted
    shown = json.loads(run_precog("cc", "forecast", "set", "--threshold-bin", "5", "-d", uri, "-j"))
    assert shown["parameters"] == {"threshold_bin": 5, "rtt_budget_us": 5.0, "carry_age_us": 200.0}
    loaded = run_precog("model", "load", QUEUE, "--queue", "-d", uri)
    assert loaded.startswith("model version")


PACKETS = NicConfig(qps=4, sets=4, forecast=True, profile=True, width=64)


def test_predicted_scores_in_packets() -> None:
    """The newest one of the source goes out, for its age, and as long as its model is there."""
    emulator = Emulator(PACKETS)
    device = Device(emulator)
    path, forecasting, packets = device.packet, device.forecast, emulator.packets
    assert path is not None
    assert forecasting is not None
    assert packets is not None
    device.model.load(pretrained(), slot=0)
    device.model.load(pretrained(QUEUE), slot=1, queue=True)
    device.qp(2).configure(preset="thesis", enable=True, model_slot=0)
    forecasting.configure(2, model_slot=1)
    forecasting.set_parameters(rtt_budget_us=0.5, carry_age_us=50.0)
    path.bind(2, "10.0.0.2", remote_qp=5, local_qp=6, score=9, score_source="rtt")
    row = packets.card.cps.slots[2]

    def carried(t: int) -> int | None:
        packets.transmit(b"", t)
        return row.carried

    assert carried(0) is None
    device.decide(np.array([[2, 5000 + 100 * n, 1000 * n] for n in range(4)]))
    assert carried(4000) == emulator.nic.rtt_score(2) - 1
    assert carried(53_000) == emulator.nic.rtt_score(2) - 1
    assert carried(53_001) is None
    path.set_score(2, 9, source="max")
    emulator.forecast([[2, 60_000, 0, 0, 0, 0]])
    queue = carried(60_000)
    assert queue is not None
    device.decide(np.array([[2, 9000, 61_000]]))
    assert carried(61_000) == max(queue, emulator.nic.rtt_score(2) - 1)
    device.model.map_slot(0, 0, enable=False)
    assert row.carried == queue
    device.qp(2).configure(enable=False, clear=False)
    assert row.carried is None
    path.set_score(2, 9, source="host")
    assert row.carried == 9
    counters = forecasting.counters()
    assert (counters["carried"], counters["expired"]) == (7, 3)
    path.unbind(2)
    assert row.carried is None


def test_profiles_lead_to_forecasts() -> None:
    """The profiler of an emulated device is connected as in gateware."""
    emulator = Emulator(PACKETS)
    device = Device(emulator)
    profiler, forecasts = emulator.profiler, emulator.forecasts
    assert profiler is not None
    assert forecasts is not None
    assert device.profiler is not None
    device.model.load(pretrained(QUEUE), slot=1, queue=True)
    assert device.forecast is not None
    device.forecast.configure(2, model_slot=1, source="queue")
    device.qp(2).configure(preset="thesis", enable=True, psched=True)
    device.profiler.set_parameters(every=2)
    made: list[list[int]] = []
    forecasts.use = lambda answer: made.append(answer.tolist())
    profiles = []
    for n in range(6):
        profiler.observe(2, QueueEvent.ARRIVAL, 5000, 100 * n)
        if n % 2:
            sample = profiler.profiler.sample(2, 100 * n)
            profiles.append([2, 100 * n, *sample.x])
    other = Emulator(PACKETS)
    Device(other).model.load(pretrained(QUEUE), slot=1, queue=True)
    second = Device(other).forecast
    assert second is not None
    second.configure(2, model_slot=1)
    Device(other).qp(2).configure(preset="thesis", enable=True)
    assert made == other.forecast(profiles).tolist()
    assert len(made) == 3
    assert device.counters()["events"] == 3


def test_sources_of_packets_are_refused() -> None:
    path = Device(Emulator(PACKETS)).packet
    assert path is not None
    known = "host, queue, rtt, max, port"
    with pytest.raises(ValueError, match=f"score source must be one of {known}, not "):
        path.bind(0, "10.0.0.2", remote_qp=5, local_qp=6, score_source="oracle")
    path = Device(Emulator(NicConfig(qps=4, width=64))).packet
    assert path is not None
    with pytest.raises(DeviceError, match="score source must be host, not max: device was built"):
        path.bind(0, "10.0.0.2", remote_qp=5, local_qp=6, score_source="max")
    path.bind(0, "10.0.0.2", remote_qp=5, local_qp=6, score=4)
    assert [(b.score, b.score_source) for b in path.bindings()] == [(4, "host")]


def test_packet_commands() -> None:
    uri = "emu:forecast=1,qps=4,width=64"
    bind = ("packet", "binding", "add", "3", "10.0.0.7", "--remote-qp", "17", "--local-qp", "18")
    (shown,) = json.loads(run_precog(*bind, "--score-source", "max", "-d", uri, "-j"))
    assert (shown["score"], shown["score_source"]) == (None, "max")
    shown = json.loads(
        run_precog("cc", "forecast", "set", "--carry-age-us", "7.5", "-d", uri, "-j")
    )
    assert shown["parameters"]["carry_age_us"] == 7.5
