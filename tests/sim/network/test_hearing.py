"""What laws hear of RTTs: noise, bases that are learnt or wrong, jitter of acknowledgements."""

from dataclasses import replace
from types import ModuleType

import numpy as np
import pytest

from precog_sim.network import Flow, Hearing, Programmed, Result, incast, run


def _law(prediction: str) -> Programmed:
    """A fixed rate; what it hears becomes its prediction, which runs record."""
    made = ModuleType("hearer")
    text = f"def on_sample(p, s, e):\n    e.prediction = {prediction} * 1e-3\n    return e.rate"
    exec(compile(text, "hearer.py", "exec"), vars(made))
    return Programmed(module=made, start_gbps=20.0)


_RTT, _BASE = _law("e.rtt"), _law("e.base")
_PLAIN = incast("hundredth", senders=3, sizes=[400_000] * 3)


def _heard(hearing: Hearing, law: Programmed, seed: int) -> Result:
    return run(replace(_PLAIN, hearing=hearing), law, seed=seed)


def test_noise_is_uniform_either_way_and_never_recorded(seed: int) -> None:
    plain = _heard(Hearing(), _RTT, seed)
    noisy = _heard(Hearing(noise_ns=200.0), _RTT, seed)
    np.testing.assert_allclose(plain.sample_predicted_us, plain.sample_rtt_us, atol=1e-9)
    np.testing.assert_array_equal(noisy.sample_rtt_ps, plain.sample_rtt_ps)
    off = noisy.sample_predicted_us - noisy.sample_rtt_us
    assert -0.2 <= off.min() < -0.15
    assert 0.15 < off.max() <= 0.2
    assert abs(off.mean()) < 0.2 / np.sqrt(off.size)
    again = _heard(Hearing(noise_ns=200.0), _RTT, seed)
    np.testing.assert_array_equal(again.sample_predicted_us, noisy.sample_predicted_us)


def test_a_base_is_learnt_from_what_is_heard(seed: int) -> None:
    """The acknowledgements between two samples are heard, too: the base is at most the samples'."""
    result = _heard(Hearing(base="learnt"), _BASE, seed)
    for flow in range(3):
        mine = result.sample_flow == flow
        base, rtt = result.sample_predicted_us[mine], result.sample_rtt_us[mine]
        assert (np.diff(base) <= 0).all()
        assert (base <= np.minimum.accumulate(rtt) + 1e-3).all()
        assert base[-1] == pytest.approx(rtt.min(), abs=0.02)


def test_a_base_is_wrong_by_the_error() -> None:
    for error in (-50.0, 80.0):
        told = _heard(Hearing(base_error_ns=error), _BASE, 0).sample_predicted_us
        np.testing.assert_allclose(told, 4.16 + error * 1e-3, atol=1e-9)


def test_jitter_of_all_comes_in_another_order(seed: int) -> None:
    """Packets' RTTs have all of the jitter; those of new bytes have the quickest of many."""
    late = replace(_PLAIN.flows[0], rtt_jitter_ps=20_000_000, rtt_jitter_of="all")
    scenario = replace(_PLAIN, flows=(late, *_PLAIN.flows[1:]))
    plain, jittered = run(_PLAIN, _RTT, seed=seed), run(scenario, _RTT, seed=seed)
    added = jittered.samples_of(0) - plain.samples_of(0).min()
    assert added.min() >= 0
    assert 1 < added.mean() < 10
    slow = jittered.packet_rtt_us[jittered.packet_rtt_us > plain.packet_rtt_us.max()]
    assert slow.size > 250
    assert slow.max() <= plain.packet_rtt_us.max() + 20
    assert slow.mean() == pytest.approx(14, abs=1)
    assert jittered.finished
    assert jittered.data_sent == plain.data_sent
    np.testing.assert_array_equal(jittered.samples_of(1), plain.samples_of(1))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"noise_ns": -1.0}, "noise_ns must be in 0..1e.06 .1 ms., not -1"),
        ({"noise_ns": float("nan")}, "noise_ns must be in"),
        ({"base_error_ns": 2e6}, "base_error_ns must be in"),
        ({"base": "known"}, "base must be one of told, learnt, not 'known'"),
        (
            {"base": "learnt", "base_error_ns": 5.0},
            "base_error_ns must be 0 where the base is lear",
        ),
    ],
)
def test_what_nobody_can_hear(given: dict[str, float | str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Hearing(**given)  # type: ignore[arg-type]


def test_jitter_of_neither() -> None:
    with pytest.raises(ValueError, match="rtt_jitter_of must be sample or all, not 'some'"):
        Flow(0, 1, 1, rtt_jitter_of="some")
