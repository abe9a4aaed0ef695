"""A NIC with a law engine: every decision and every register of RTL and emulator are equal."""

import random
from pathlib import Path

import numpy as np
import pytest
from tests.models.predict.weights import random_weights
from tests.sim.rtl.law_twins import MICRO, Twins

from precog_host.transport import DeviceError
from precog_models.laws.compiler.compile import compile_law
from precog_models.laws.compiler.load import load
from precog_models.predict.lstm import pack
from precog_models.rate.engine.image import image_of
from precog_spec.contract import PROGRAM_ALGORITHM, TraceKind
from precog_spec.law_fields import EventKind

pytestmark = [pytest.mark.cosim, pytest.mark.xdist_group("law_engine")]

_DIVIDES = """
from precog_models.laws.language import Field, Q, fraction, reciprocal, rsqrt, scale

PARAMETERS = ()
STATE = (Field("root", Q(17, 0, signed=False)),)
WINDOWED = False


def on_ack(p, s, e):
    s.root = rsqrt(e.bytes)
    part = scale(e.rate, fraction(e.marked, e.bytes))
    return min(part + reciprocal(e.bytes) + s.root, e.max_rate)
"""


def test_programs_under_traffic(twins: Twins, seed: int, volume: int) -> None:
    """Three laws on queue pairs that collide, swapped while events flow."""
    rng, t = random.Random(seed), 1000
    laws = ("lockstep", "timely", "swift")
    for slot, law in enumerate(laws):
        twins.load(law, slot)
    for qp in range(twins.qps):
        twins.configure(qp, f"law:{qp % len(laws)}")
    for _ in range(3 * volume):
        t = twins.traffic(rng, t, 400)
        twins.same()
        twins.load(rng.choice(laws), rng.randrange(len(laws)))
        twins.configure(rng.randrange(twins.qps), f"law:{rng.randrange(4)}")
    assert twins.devices[0].law.state().counters["safe"] >= 0
    print(f"{twins.decided} decisions")


def test_psched_moves_the_rates_of_programs(twins: Twins, seed: int, volume: int) -> None:
    """Queue pairs that ask for it and others, on either side of the threshold of RTTs."""
    rng, t = random.Random(seed), 1000
    laws = ("lockstep", "timely", "dcqcn")
    for device in twins.devices:
        device.set_parameters(psched_skill=0)
        device.law.configure(threshold_ticks=20_000)
    for slot, law in enumerate(laws):
        twins.load(law, slot)
    algorithms = [f"law:{n}" for n in range(len(laws) + 1)]
    for qp in range(twins.qps):
        twins.configure(qp, algorithms[qp % len(algorithms)], psched=qp % 2 == 0)
    for _ in range(3 * volume):
        t = twins.traffic(rng, t, 400)
        twins.same()
        for _ in range(4):
            qp = rng.randrange(twins.qps)
            twins.configure(qp, "predpid", psched=True)
            twins.event(EventKind.SCORE, qp, t, rng.randrange(101))
            twins.sample(qp, 4180, t)
            twins.configure(qp, rng.choice(algorithms), psched=rng.random() < 0.7)
    counters = twins.devices[0].counters()
    assert counters["scored"] > counters["congested"] > 20


@pytest.mark.parametrize("twins", [MICRO], indirect=True, ids=["micro"])
def test_a_small_processor_decides_for_some(twins: Twins, seed: int, volume: int) -> None:
    """Queue pairs change between programs, pid and predpid, with PSCHED and without.

    The trace says of both devices what each decision was made of.
    """
    rng, t = random.Random(seed), 1000
    laws = ("lockstep", "timely")
    algorithms = ["pid", "predpid", *(f"law:{n}" for n in range(len(laws)))]
    image = pack(random_weights(np.random.default_rng(seed), steps=3))
    for device in twins.devices:
        assert device.trace is not None
        device.set_parameters(psched_skill=0)
        device.model.write_set(1, image)
        device.model.map_slot(0, 1)
        device.trace.configure(kinds=("decision", "program"), all_qps=True)
    for slot, law in enumerate(laws):
        twins.load(law, slot)
    for qp in range(twins.qps):
        twins.configure(qp, algorithms[qp % len(algorithms)], psched=qp % 2 == 0, use_model=True)
    traced = set()
    for _ in range(8 * volume):
        for _ in range(40):
            t += rng.randrange(1, 3000)
            qp = rng.randrange(twins.qps)
            twins.sample(qp, 4180 + rng.randrange(rng.choice([60, 3000])), t)
            if twins.algorithms[qp].startswith("law"):
                twins.ack(qp, t, 5000, 1000, 0, t >> 10, (t >> 10) + 30)
            elif twins.pscheds[qp]:
                twins.event(EventKind.SCORE, qp, t, rng.randrange(101))
        twins.same()
        rtl, golden = (list(device.trace.drain()) for device in twins.devices if device.trace)
        assert rtl == golden
        traced |= {(record["kind"], record.get("set")) for record in rtl}
        some = {name: rng.random() < 0.7 for name in ("psched", "use_model")}
        twins.configure(rng.randrange(twins.qps), rng.choice(algorithms), **some)
    assert twins.devices[0].counters()["scored"] > 20
    decided, ran = TraceKind.DECISION, TraceKind.PROGRAM
    assert traced == {(decided, 0), (decided, 1), (ran, None)}


def test_refused_programs_leave_what_is_live(twins: Twins, seed: int) -> None:
    """A wrong CRC, contract or length; then a trap, and an overrun."""
    rng = random.Random(seed)
    twins.load("timely", 0)
    for qp in range(twins.qps):
        twins.configure(qp, "law:0")
    made = compile_law(load("swift"))
    image = image_of(made.program, made.law.integers("default", 1000))
    other = image.copy()
    other[1] ^= 1
    for bad, crc, reason in (
        (image, 5, "bad crc"),
        (other, None, "bad contract"),
        (image[:-1], None, "bad length"),
        (np.append(image, 0), None, "bad length"),
        (np.append(other[1:], 0), None, "bad format"),
    ):
        for device in twins.devices:
            with pytest.raises(DeviceError, match=f"refused by bank 1: {reason}"):
                device.law.write_bank(1, bad, crc=crc)
            with pytest.raises(DeviceError, match="law slot 1 was refused: bank 1 is not valid"):
                device.law._map(1, 1, enable=True)
    for device in twins.devices:
        with pytest.raises(DeviceError, match="refused by bank 0: bank in use"):
            device.law.write_bank(0, image)
    t = twins.traffic(rng, 1000, 100)
    twins.same()
    assert twins.devices[0].law.slots()[0].law == "timely"
    for device in twins.devices:
        device.law.configure(budget=20)
    t = twins.traffic(rng, t, 60)
    twins.same()
    state = twins.devices[0].law.state()
    assert state.trap is not None
    assert state.trap["status"] == "overrun"
    assert (state.slots[0].law, state.slots[0].trapped) == (None, True)
    assert state.counters["safe"] > 0
    for device in twins.devices:
        device.law.configure(budget=1023)
    broken = image.copy()
    broken[16 : 16 + 1024] = 0xFFFF_FFFF
    for device in twins.devices:
        device.law.write_bank(1, broken)
        device.law._map(0, 1, enable=True)
    twins.traffic(rng, t, 60)
    twins.same()
    state = twins.devices[0].law.state()
    assert state.trap is not None
    assert state.trap["status"] == "illegal"
    twins.load("timely", 0)
    twins.traffic(rng, t + 1_000_000, 100)
    twins.same()


def test_a_division_by_zero_is_no_trap(twins: Twins, tmp_path: Path, seed: int) -> None:
    """A third of the acknowledgements have no bytes; the program stays."""
    path = tmp_path / "divides.py"
    path.write_text(_DIVIDES)
    twins.load(path, 0)
    for qp in range(twins.qps):
        twins.configure(qp, "law:0")
    twins.traffic(random.Random(seed), 1000, 100)
    twins.same()
    for engine in twins.engines:
        state = engine.state()
        assert (state.slots[0].law, state.trap, state.counters["safe"]) == ("divides", None, 0)
        assert state.counters["events"] == 100


@pytest.mark.parametrize(("qp", "number"), [(1, 3), (2, PROGRAM_ALGORITHM - 1)])
def test_numbers_of_no_law_are_run_as_fixed(twins: Twins, qp: int, number: int) -> None:
    """They hear no events."""
    for device in twins.devices:
        config = device.qp(qp).planned(preset="precog", enable=True, algorithm="fixed")
        device.qp(qp).apply({**config, "algorithm": number})
    for n, rtt in enumerate((4180, 60_000, 9000, 100_000)):
        twins.sample(qp, rtt, 10_000 * n)
    event = np.array([EventKind.CNP, qp, 50_000, 0], dtype=np.int64)
    assert len(twins.emulator.happen(event)) == 0
    status = twins.devices[0].qp(qp).status()
    assert (status.algorithm, status.rate_gbps) == (f"code {number}", status.init_rate_gbps)
