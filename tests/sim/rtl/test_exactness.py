"""The exactness campaign finds one wrong bit, and only then; a slice of it runs on the real RTL."""

from dataclasses import replace

import numpy as np
import pytest

from precog_models.predict.lstm import unpack
from precog_sim.rtl.exactness import Campaign, emulator_like
from precog_sim.rtl.library import Batch, NicLibrary
from precog_sim.rtl.stimulus import Ints, model_image, rtt_samples
from precog_spec.config import PRESETS, NicConfig
from precog_spec.contract import DECISION_FIELDS

TINY = PRESETS["tiny"]
FAMILIES = ("random", "saturating")


class FakeNic(NicLibrary):
    """The golden NIC behind the RTL library's interface, with one bit flipped if so asked."""

    def __init__(self, config: NicConfig, *, flip_decision: int | None = None) -> None:
        self._emulator = emulator_like(config)
        self._flip = flip_decision
        self._made = 0

    def axil_read(self, address: int) -> tuple[int, int]:
        return self._emulator.read32(address), 0

    def axil_write(self, address: int, data: int) -> int:
        self._emulator.write32(address, data)
        return 0

    def batch(self, samples: Ints, **_: object) -> Batch:
        out = np.zeros((len(samples), len(DECISION_FIELDS)), dtype=np.int64)
        latency = np.full(len(samples), -1, dtype=np.int32)
        for n in range(len(samples)):
            made = self._emulator.decide(samples[n : n + 1])
            if len(made):
                out[n], latency[n] = made[0], 50
                if self._flip == self._made:
                    out[n, -1] ^= 1
                self._made += 1
        return Batch(out, latency, np.flatnonzero(latency > 0).astype(np.int32), 50 * len(out))

    def mixed(self, samples: Ints, events: Ints, **_: object) -> Ints:
        """One after the other, by turns."""
        out = []
        for n in range(max(len(samples), len(events))):
            out += [*self.batch(samples[n : n + 1]).decisions[: n < len(samples)]]
            out += [*self._emulator.happen(events[n])] if n < len(events) else []
        rows = np.array(out, dtype=np.int64).reshape(-1, len(DECISION_FIELDS))
        return rows[rows.any(axis=1)]

    def close(self) -> None:
        pass


def test_equal_devices_have_no_mismatches(seed: int) -> None:
    campaign = Campaign(TINY, seed, nic=FakeNic(TINY), families=FAMILIES)
    for _ in range(6):
        campaign.batch(200)
    result = campaign.result
    assert result.mismatches == 0, result.first
    assert result.decisions > 200
    assert result.predictions <= result.decisions
    assert set(result.families) == set(FAMILIES)


def test_one_wrong_bit_is_found_and_said_where(seed: int) -> None:
    campaign = Campaign(TINY, seed, nic=FakeNic(TINY, flip_decision=100), families=FAMILIES)
    for _ in range(6):
        campaign.batch(200)
    assert campaign.result.mismatches == 1
    assert campaign.result.first.startswith(f"seed {seed}, batch ")
    assert "flags" in campaign.result.first


@pytest.mark.parametrize("family", FAMILIES)
def test_images_are_valid_and_of_every_size(family: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    models = [unpack(model_image(rng, family, 5)) for _ in range(60)]
    assert {m.steps for m in models} == {1, 2, 3, 4, 5}
    assert min(m.inputs for m in models) < max(m.inputs for m in models)


def test_an_unknown_family_is_refused() -> None:
    with pytest.raises(ValueError, match="family must be one of random, trained, saturating"):
        model_image(np.random.default_rng(0), "trainde", 3)


def test_samples_reach_the_ends_of_the_format(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rtt = np.concatenate([rtt_samples(rng, 8, 500)[:, 1] for _ in range(20)])
    assert rtt.min() == 0
    assert rtt.max() == (1 << 24) - 1


@pytest.mark.cosim
@pytest.mark.parametrize(
    ("config", "decisions"),
    [
        pytest.param(TINY, 20_000, id="tiny", marks=pytest.mark.xdist_group("tiny")),
        pytest.param(PRESETS["lanes64"], 10_000, id="lanes64"),
        pytest.param(replace(TINY, trials=True), 10_000, id="trials"),
        pytest.param(replace(TINY, ecc=False, micro=True), 5_000, id="micro"),
    ],
)
def test_rtl_equals_golden(config: NicConfig, decisions: int, seed: int, volume: int) -> None:
    if config.micro and volume == 1:
        pytest.skip("only with --volume: test_bare_packet_nic.py has the small processor")
    campaign = Campaign(config, seed)
    while campaign.result.decisions < decisions:
        campaign.batch(2_500)
    campaign.close()
    assert campaign.result.mismatches == 0, campaign.result.first
    assert campaign.result.predictions > 0
    assert (campaign.result.events > 0) == bool(config.laws)


@pytest.mark.cosim
def test_the_relaxed_form_equals_golden(seed: int, volume: int) -> None:
    """With its queues and tables in block RAM."""
    equals_golden_in_volume(replace(TINY, relaxed=True), seed, volume)


@pytest.mark.cosim
@pytest.mark.parametrize("lanes", [4, 8])
def test_few_lanes_equal_golden(lanes: int, seed: int, volume: int) -> None:
    """Gate after gate, with models of all sizes."""
    equals_golden_in_volume(replace(TINY, lanes=lanes), seed, volume)


def equals_golden_in_volume(config: NicConfig, seed: int, volume: int) -> None:
    if volume == 1:
        pytest.skip("only with --volume: a library takes a minute to build")
    campaign = Campaign(config, seed)
    while campaign.result.decisions < 5_000 * volume:
        campaign.batch(1_000)
    campaign.close()
    assert campaign.result.mismatches == 0, campaign.result.first
    assert campaign.result.predictions > 0


@pytest.mark.cosim
@pytest.mark.xdist_group("tiny")
def test_a_unit_without_work_need_not_be_clocked(seed: int) -> None:
    """With idle units' clocks stopped and running, by Verilator's own evaluation of every edge and
    without it: the same rows in the same cycles."""
    runs = []
    for gated, strict in ((True, False), (False, False), (True, True)):
        campaign = Campaign(TINY, seed)
        campaign.nic.set_gating(gated)
        campaign.nic.set_strict(strict)
        for _ in range(8):  # host accesses, loads and samples in turn
            campaign.batch(500)
        assert campaign.result.mismatches == 0, campaign.result.first
        runs.append((campaign.result.decisions, campaign.nic.cycles))
        campaign.close()
    assert runs[0] == runs[1] == runs[2]


@pytest.mark.cosim
@pytest.mark.xdist_group("tiny")
def test_idle_cycles_change_nothing(seed: int) -> None:
    rng = np.random.default_rng(seed)
    samples = rtt_samples(rng, TINY.qps, 300)
    runs = []
    for gaps in (np.zeros(300, dtype=np.int64), rng.integers(0, 500, 300)):
        campaign = Campaign(TINY, seed)  # the same seed: the same models and configuration
        campaign.batch(10)
        rows = []
        for sample, gap in zip(samples, gaps, strict=True):
            campaign.nic.idle(int(gap))
            run = campaign.nic.batch(sample[None, :], allow_drops=True)
            rows.append(run.decisions[0])
        campaign.close()
        runs.append(np.array(rows))
    assert np.array_equal(runs[0], runs[1])
    assert runs[0].any()
