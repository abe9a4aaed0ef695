"""What a peer that lies in its scores takes from a queue pair: figures of `attack_bounds`."""

import itertools
import random

import numpy as np
import pytest
from numpy.typing import NDArray

from precog_host.device import Device
from precog_models.packet.cps_rx import receive
from precog_models.packet.cps_tx import transmit
from precog_models.psched_presets import PSCHED_PRESETS
from precog_models.rate.psched import (
    PSCHED_STATE,
    SCORED,
    psched_output,
    psched_reset,
    psched_score,
)
from precog_sim.loop import LoopSetup, run_in_loop
from precog_sim.network import Flow, Record, Result, Scenario, Scores, star
from precog_sim.scored.settings import LAWS
from precog_spec.contract import Flag
from precog_spec.frames.cps import Mode
from precog_spec.law_fields import DOUBT_MAX, PSCHED_PARAMETERS

from ..models.packet.frames import SLOT4, card, packet
from .attack_bounds import (
    BEST_FORGER_TAKES,
    BLIND_SCORES_COST,
    FORGED_SCORES_COST,
    SCORES_TAKE_LAST,
    SCORES_TAKE_MOST,
    SCORES_TAKE_SAMPLES,
    SCORES_UNJUDGED_US,
    STRANGERS_REWRITTEN,
)

RATE = 1 << 28
TICK_PS = 1000
SAMPLE_TICKS = 5000
CONGESTION = 4000
STATE = {name: n for n, name in enumerate(PSCHED_STATE)}


class QueuePair:
    """PSCHED's golden model at a law's rate that stays, a sample every `SAMPLE_TICKS`."""

    def __init__(self, *, skill: bool) -> None:
        preset = PSCHED_PRESETS["precog"].parameters(TICK_PS) | {"skill": int(skill)}
        self.parameters = np.array([preset[name[7:]] for name, _ in PSCHED_PARAMETERS])
        self.config = np.array([0, 0, RATE >> 10, RATE << 1])
        self.state: NDArray[np.int64] = np.zeros(len(PSCHED_STATE), dtype=np.int64)
        psched_reset(self.state, RATE)
        self.followed = False

    def told(self, score: int, t: int) -> float:
        """What a score takes of the law's rate when it comes."""
        psched_score(self.state, score, t)
        return self._taken(t, -1, -1, 0)

    def sampled(self, congested: bool, t: int) -> float:
        """What is taken of it when a sample comes."""
        return self._taken(t, RATE, 0, CONGESTION * congested)

    def _taken(self, t: int, rate: int, srtt: int, delay: int) -> float:
        output, _, flags = psched_output(
            self.state, self.config, self.parameters, t, rate, srtt, delay, 0, False
        )
        self.followed = bool(flags & SCORED)
        return 1 - output / RATE


def test_blind_scores_take_one_samples_worth_between_two_that_find_congestion() -> None:
    qp = QueuePair(skill=False)
    for _, quiet in itertools.product(range(3), (5, 60)):
        taken = [qp.sampled(True, 0)]
        for n in range(quiet):
            taken += [qp.told(100, n), qp.sampled(False, n)]
        each = taken[1::2]  # what holds from a forged score to the next sample
        assert max(taken) <= SCORES_TAKE_MOST
        assert sum(each[: DOUBT_MAX + 1]) <= SCORES_TAKE_SAMPLES
        assert max(each[DOUBT_MAX + 1 :], default=0.0) <= SCORES_TAKE_LAST


def test_a_peer_that_stops_the_samples_gains_one_lifetime() -> None:
    qp = QueuePair(skill=False)
    qp.sampled(True, 0)
    taken = [qp.told(100, 1 + t) for t in range(0, 10**6, 1000)]
    assert max(taken) <= SCORES_TAKE_MOST
    ends = max(n for n, share in enumerate(taken) if share > 0)
    assert ends * 1000 * TICK_PS / 1e6 <= SCORES_UNJUDGED_US


@pytest.mark.parametrize("congested", [0.02, 0.1, 0.25, 0.5, 0.75])
@pytest.mark.parametrize("burst", [1, 4, 20])
def test_the_best_forger_takes_little(congested: float, burst: int, seed: int) -> None:
    """He knows the queue pair's state and what the next samples find, and lies where it costs him
    no trust: a score of 100 after each such sample, the truth before the next one comes."""
    rng = np.random.default_rng(seed)
    samples = rng.random(4000 // burst) < congested
    found = np.repeat(samples, burst).tolist()
    taken = []
    qp, honest = QueuePair(skill=True), QueuePair(skill=True)
    for n, (now, soon, later) in enumerate(zip(found, found[1:], found[2:], strict=False)):
        t = n * SAMPLE_TICKS
        qp.sampled(now, t)
        honest.sampled(now, t)
        rightly = honest.told(100 * later, t + 1)
        trial = QueuePair(skill=True)
        trial.state = qp.state.copy()
        trial.told(100, t + 1)
        for step, one in enumerate((soon, later)):
            trial.sampled(one, t + (1 + step) * SAMPLE_TICKS)
            trial.told(100 * later, t + (1 + step) * SAMPLE_TICKS + 1)
        forges = trial.followed
        share = qp.told(100 if forges else 100 * later, t + 1)
        taken.append(max(share, 0.0) - max(rightly, 0.0))
        qp.told(100 * later, t + SAMPLE_TICKS - 1)
    assert np.mean(taken) <= BEST_FORGER_TAKES, np.mean(taken)


def flow_alone(law: str, source: str | None, *, skill: bool = True) -> Result:
    """A flow of 2 MB on an empty path of 100 Gb/s, the golden NIC deciding."""
    settings = LAWS[law]
    told = source is not None
    setup = LoopSetup(
        preset=settings.preset,
        algorithm=settings.algorithm,
        timely=settings.timely,
        dcqcn=settings.dcqcn,
        min_gbps=0.1,
        init_gbps=100.0,
        scores=Scores(source, CONGESTION * TICK_PS / 1e6) if source else None,
        parameters=(("psched_skill", float(skill)),) if told else (),
    )
    path = Scenario(
        "path", star(2, gbps=100.0), (Flow(1, 0, 2_000_000),), jitter_ns=100.0, horizon_us=5_000.0
    )
    with Device.open("emu:law_cores=1") as device:
        return run_in_loop(device, setup, path, seed=0, record=Record(packets=False, log=True))


@pytest.mark.parametrize("law", LAWS)
def test_forged_scores_in_the_closed_loop(law: str) -> None:
    alone = flow_alone(law, None).fct_us[0]
    cost = {
        (source, skill): 1 - alone / flow_alone(law, source, skill=skill).fct_us[0]
        for source in ("forged", "constant", "inverted", "garbage")
        for skill in (True, False)
    }
    assert max(value for (_, skill), value in cost.items() if skill) <= FORGED_SCORES_COST, cost
    assert max(cost.values()) <= BLIND_SCORES_COST, cost
    assert max(cost.values()) > 0  # they are told, and followed where nothing asks for skill


def test_right_scores_are_followed_in_that_loop() -> None:
    """What forged ones lose is not that scores are heard at all."""
    flags = flow_alone("timely", "oracle").log[:, -1]
    assert (flags >> Flag.SCORED & 1).mean() > 0.5


def test_strangers_packets_are_not_rewritten(seed: int) -> None:
    rng = random.Random(seed)
    sender, receiver = card("A"), card("B")
    rewritten = 0
    for n in range(300):
        frame = bytearray(transmit(sender, packet(rng.randbytes(n % 60)), n).frame)
        row = receiver.slots[SLOT4]
        who = rng.choice(("source", "queue pair", "mode", "destination"))
        row.mode = rng.choice((Mode.OFF, Mode.R)) if who == "mode" else Mode.S
        receiver.destination_enable[0] = who != "destination"
        at = {"source": (26, 30), "queue pair": (55, 58)}.get(who)
        if at is not None:
            frame[rng.randrange(*at)] ^= 1 << rng.randrange(8)
        rewritten += receive(receiver, frame).frame != bytes(frame)
    assert rewritten == STRANGERS_REWRITTEN
