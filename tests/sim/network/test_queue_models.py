"""Queue models in the closed loop: the device watches, forecasts, and follows; receivers act."""

import dataclasses
from typing import Any

import numpy as np
import pytest
from tests.hw.packet.bench import run as simulate
from tests.integration.traced_cards import EMULATED, SIMULATED

from precog_host.device import Device
from precog_hw.rate.receiver import Receiver
from precog_hw.rate.receiver_layouts import COMMIT
from precog_models.data.queue_trace import QueueTrace, profile
from precog_models.forecast.forecaster import Forecaster
from precog_models.image import pretrained
from precog_sim.loop import LoopSetup, _receivers, compare, run_in_loop
from precog_sim.network import Bursts, Flow, Loop, Record, Result, Scenario, Scores, run, star
from precog_sim.scored.settings import queue_model
from precog_spec.config import NicConfig
from precog_spec.contract import DECISION_FIELDS, FORECAST_FIELDS, PROBABILITY, SAMPLE_FIELDS, Flag
from precog_spec.law_fields import NO_SCORE, SCORE_BITS, ScoreCommand
from precog_spec.receiver_fields import RECEIVER_EVENT, RECEIVER_RESULT, Act, Band, ReceiverKind

_KEPT = Record(packets=False, log=True, queues=True, scores=True)
_NAMES = [name for name, _ in (*SAMPLE_FIELDS, *DECISION_FIELDS)]
_FLAGS = _NAMES.index("flags")
_FORECAST = [name for name, _ in FORECAST_FIELDS]
_CPS, _P0 = _FORECAST.index("cps"), _FORECAST.index("p0")
_RECEIVED = [name for name, _ in (*RECEIVER_EVENT, *RECEIVER_RESULT)]
_EVENT = len(RECEIVER_EVENT)


def _scenario(*, both_ways: bool = False, size: int = 300_000) -> Scenario:
    """An incast of four whose bytes come in bursts; or two pairs of hosts that talk both ways."""
    pairs = [(1, 0), (0, 1), (2, 3), (3, 2)] if both_ways else [(k + 1, 0) for k in range(4)]
    come = Bursts(150.0, 20.0, 10.0, size=32_768)
    flows = tuple(Flow(src, dst, size, messages=come) for src, dst in pairs)
    topology = star(5)
    return Scenario("short", topology, flows, min_gbps=0.1, jitter_ns=2_000, horizon_us=2_000)


def _setup(law: str, source: str = "queue", **options: Any) -> LoopSetup:
    model = options.pop("model", "lstm")
    skill = options.pop("skill", 1.0)
    return LoopSetup(
        preset="precog",
        algorithm=law,
        init_gbps=20.0,
        min_gbps=0.1,
        scores=Scores(source, **options),
        queue_model=queue_model(model),
        parameters=(("psched_skill", skill),),
    )


def _run(setup: LoopSetup, scenario: Scenario, uri: str = EMULATED, seed: int = 0) -> Result:
    with Device.open(uri) as device:
        return run_in_loop(device, setup, scenario, seed=seed, record=_KEPT)


@pytest.mark.cosim
@pytest.mark.xdist_group("traced")
@pytest.mark.parametrize(
    ("law", "both_ways", "options"),
    [
        ("timely", False, {"skill": 0.0}),
        ("dcqcn", True, {"echo": True, "receiver": True, "skill": 0.0}),
        ("dcqcn", False, {"echo": True}),
        ("timely", False, {"model": "tree"}),
    ],
    ids=["home", "receiver", "echo", "tree"],
)
def test_rtl_and_golden_decide_the_same(
    law: str, both_ways: bool, options: dict[str, Any], seed: int, volume: int
) -> None:
    """The RTL's own profiler, engine and PSCHED against their golden twins, event for event."""
    tree = options.get("model") == "tree"
    if tree and volume == 1:
        pytest.skip("one more NIC to be built: --volume 2")
    setup, scenario = _setup(law, **options), _scenario(both_ways=both_ways)
    uris = [uri + ",tree=1" * tree for uri in (EMULATED, SIMULATED)]
    for k in range(volume):
        golden, rtl = (_run(setup, scenario, uri, seed + k) for uri in uris)
        found = compare(golden, rtl)
        assert (found.mismatches, found.first) == (0, "")
        assert found.forecasts > 50
        assert found.events > 50
        np.testing.assert_array_equal(golden.receiver_log, rtl.receiver_log)
        assert options.get("receiver", False) == bool(len(golden.receiver_log))


def test_a_difference_of_forecasts_is_found() -> None:
    one = _run(_setup("timely"), _scenario())
    changed = one.forecast_log.copy()
    changed[7, _P0] += 1
    found = compare(one, dataclasses.replace(one, forecast_log=changed))
    assert (found.mismatches, found.first) == (
        1, f"forecast 7 differs, of {len(changed)}, {len(changed)}",
    )  # fmt: skip
    assert compare(one, dataclasses.replace(one, forecast_log=changed[:-3])).mismatches == 4


def test_the_loop_forecasts_as_models_have_learnt(seed: int) -> None:
    """Windows of the send queues' log, cut as those of training are, say the same."""
    scenario = _scenario()
    result = _run(_setup("timely", skill=0.0), scenario, seed=seed)
    period = round(scenario.base_rtt_us * 1e3)
    log = result.queue_log
    t = (log[:, 0] + 500) // 1000
    trace = QueueTrace(
        queue=log[:, 1].copy(),
        t=t,
        size=log[:, 2].copy(),
        queues=4,
        base_rtt=period,
        end=int(t[-1]) + period,
        group="short",
        law="timely",
        card={},
    )
    signals = profile(trace).signals
    forecaster = Forecaster(pretrained("queue-1rtt"))
    # What happens less than half a tick after a visit has the visit's tick, but comes after it; so
    # does what the visit's own score lets go.
    torn = (t % period == 0) & (log[:, 0] >= t * 1000)
    for f in range(4):
        mine = result.forecast_log[result.forecast_log[:, 0] == f]
        np.testing.assert_array_equal(np.diff(mine[:, 1]), period)
        at = mine[7:, 1, None] // period - 1 + np.arange(-7, 1)
        whole = ~np.isin(at, t[torn & (log[:, 1] == f)] // period - 1).any(axis=1)
        assert whole.mean() > 0.3
        expected = forecaster.distributions(signals[f][at[whole]])
        np.testing.assert_array_equal(mine[7:][whole, _P0 : _P0 + 16], expected)
        np.testing.assert_array_equal(mine[7:][whole, _CPS], forecaster.scores(expected))
        assert (mine[:, _P0 : _P0 + 16].sum(axis=1) == PROBABILITY.one).all()


def test_inverted_scores_are_100_minus_the_forecast() -> None:
    told = []
    for source in ("queue", "queue_inverted"):
        result = _run(_setup("timely", source), _scenario())
        events = result.log[(result.log[:, _FLAGS] >> Flag.EVENT & 1) == 1]
        told.append(events[:20, 1])
        cps = result.forecast_log[:20, _CPS]
        np.testing.assert_array_equal(told[-1], cps if source == "queue" else 100 - cps)
    assert (told[0] + told[1] == 100).all()


def test_receivers_act_on_the_queue_pair_of_the_other_way() -> None:
    scenario = _scenario(both_ways=True)
    assert scenario.connections() == {0: 1, 1: 0, 2: 3, 3: 2}
    assert _scenario().connections() == {}
    setup = _setup("timely", echo=True, receiver=True, skill=0.0)
    result = _run(setup, scenario)
    rows = {name: result.receiver_log[:, n] for n, name in enumerate(_RECEIVED)}
    scores = rows["kind"] == ReceiverKind.SCORE
    assert {Band.LOW, Band.HIGH} <= set(rows["band"][scores].tolist())
    acts = rows["acts"]
    assert (acts[scores] & Act.COMMAND != 0).all()
    assert (acts & Act.BOOST != 0).any()
    # Each command reaches the queue pair's law, as an event of that moment.
    events = result.log[(result.log[:, _FLAGS] >> Flag.EVENT & 1) == 1]
    told = {tuple(row) for row in events[:, :3].tolist()}
    for n in np.flatnonzero(scores & (rows["command"] == ScoreCommand.REDUCE)):
        value = 100 if rows["score"][n] > 100 else int(rows["score"][n])
        ended = result.fct_us[rows["qp"][n]] + result.start_us[rows["qp"][n]]
        if rows["t"][n] * 1e-3 < ended - 1:
            value |= ScoreCommand.REDUCE << SCORE_BITS
            assert (int(rows["qp"][n]), value, int(rows["t"][n])) in told
    assert len(_run(_setup("timely", echo=True, skill=0.0), scenario).receiver_log) == 0


def test_the_rtl_receiver_does_the_same_with_every_score_of_a_run() -> None:
    result = _run(
        _setup("dcqcn", echo=True, receiver=True, skill=0.0),
        _scenario(both_ways=True, size=100_000),
    )
    log = result.receiver_log
    visits = log[:, 0] == ReceiverKind.VISIT
    assert not log[visits][:, _RECEIVED.index("acts")].any()  # no score has aged
    log = log[~visits]
    assert len(log) > 200
    block = _receivers(4).block
    names = [name for name, _ in RECEIVER_RESULT]
    dut = Receiver(NicConfig(qps=4, sets=2))

    async def play(ctx: Any) -> None:
        parameters = dict(
            zip(
                [name for name in dut.parameters.shape().members], block[1:11].tolist(), strict=True
            )
        )
        for name, value in parameters.items():
            ctx.set(dut.parameters[name], value)
        ctx.set(dut.available, 1)
        ctx.set(dut.o_boost.ready, 1)
        ctx.set(dut.o_quota.ready, 1)
        for qp in range(4):
            config = {"commands": 1, "boosts": 1, "grows": 0, "base_quota": 64}
            ctx.set(dut.i_config.payload, {"qp": qp, "clear": 1, "config": config})
            ctx.set(dut.i_config.valid, 1)
            while not ctx.get(dut.i_config.ready):
                await ctx.tick()
            await ctx.tick()
            ctx.set(dut.i_config.valid, 0)
        for row in log.tolist():
            event = dict(zip(_RECEIVED, row[:_EVENT], strict=False))
            ctx.set(dut.now, event["t"])
            ctx.set(dut.heard, 1)
            ctx.set(dut.heard_slot, event["qp"])
            ctx.set(dut.heard_score, event["score"])
            await ctx.tick()
            ctx.set(dut.heard, 0)
            for _ in range(200):
                if ctx.get(dut.commit_stb):
                    bits = ctx.get(dut.commit.as_value())
                    made = COMMIT.from_bits(bits)
                    if made.event.kind == ReceiverKind.SCORE:
                        break
                await ctx.tick()
            else:
                raise AssertionError("the score must take effect")
            assert [made.event[n] for n, _ in RECEIVER_EVENT] == row[:_EVENT]
            assert [made.result[n] for n in names] == row[_EVENT:]
            await ctx.tick()

    simulate(dut, play, cycles=400 * len(log) + 1000)


def test_messages_are_through_when_their_last_byte_is_acknowledged() -> None:
    result = _run(_setup("timely"), _scenario())
    assert result.message_bytes.sum() == result.size.sum()
    assert (result.message_us > result.message_alone_us - 1e-6).all()
    for f in range(4):
        mine = result.message_flow == f
        ends = result.message_t_us[mine] + result.message_us[mine]
        assert (np.diff(ends) >= 0).all()
        assert ends[-1] == pytest.approx(result.start_us[f] + result.fct_us[f], abs=1e-9)
    cut = dataclasses.replace(_scenario(), horizon_us=40.0)
    assert np.isnan(_run(_setup("timely"), cut).message_us).any()


def test_bad_input_is_refused() -> None:
    with pytest.raises(ValueError, match="queue_model must be given"):
        LoopSetup(scores=Scores("queue"))
    with pytest.raises(ValueError, match=r"must travel \(echo\) to act at the receiver"):
        Scores("queue", receiver=True)
    with pytest.raises(ValueError, match="open it with forecast=1,profile=1"):
        _run(_setup("timely"), _scenario(), "emu:")
    with pytest.raises(ValueError, match="queues must be given for scores of queue"):
        run(_scenario(), Loop(function=1, event_function=1, scores=Scores("queue")))
    with pytest.raises(ValueError, match="receivers must hold the address"):
        run(
            _scenario(),
            Loop(function=1, event_function=1, scores=Scores("oracle", echo=True, receiver=True)),
        )
    with pytest.raises(ValueError, match="queue model must be one of lstm, tree, not 'gru'"):
        queue_model("gru")
    assert NO_SCORE > 100
