"""The harness' contract, against a stand-in that can be told to break it."""

import ctypes
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from precog_sim.rtl.fields import fields_header
from precog_sim.rtl.library import NicLibrary, RtlError
from precog_spec.contract import DECISION_FIELDS, SAMPLE_FIELDS

pytestmark = pytest.mark.cosim
Standin = Callable[..., NicLibrary]
MASK32 = 0xFFFF_FFFF


def random_samples(seed: int, n: int, qps: int = 5) -> NDArray[np.int64]:
    """Samples whose every field uses its full width, the QP's apart."""
    rng = np.random.default_rng(seed)
    columns = [
        rng.integers(0, qps if name == "qp" else 1 << bits, n) for name, bits in SAMPLE_FIELDS
    ]
    return np.stack(columns, axis=1)


def expected(samples: NDArray[np.int64]) -> NDArray[np.int64]:
    """What the stand-in answers."""
    out = np.zeros((len(samples), len(DECISION_FIELDS)), dtype=np.int64)
    out[:, 0] = samples[:, 0]
    out[:, 1] = (samples[:, 1] + 1) & MASK32
    out[:, 2] = samples[:, 2] & MASK32
    return out


def test_every_field_of_the_contract_is_in_the_header() -> None:
    text = fields_header()
    lsb = 0
    for name, bits in DECISION_FIELDS:
        assert f"get_field<{lsb}, {bits}>(p);  // {name}" in text
        lsb += bits


def test_decide_returns_the_decision_and_its_latency(standin: Standin, seed: int) -> None:
    nic = standin()
    samples = random_samples(seed, 50)
    for row, want in zip(samples, expected(samples), strict=True):
        got = nic.decide(qp=int(row[0]), rtt=int(row[1]), t=int(row[2]))
        assert list(got.values()) == list(want)
    assert nic.decisions == 50
    assert not nic.pending


def test_the_c_function_is_the_same_call(standin: Standin) -> None:
    nic = standin()
    decide = ctypes.CFUNCTYPE(
        ctypes.c_int64,
        ctypes.c_void_p,
        ctypes.POINTER(ctypes.c_int64),
        ctypes.POINTER(ctypes.c_int64),
    )(nic.address)
    sample = (ctypes.c_int64 * len(SAMPLE_FIELDS))(2, 9, 11)
    decision = (ctypes.c_int64 * len(DECISION_FIELDS))()
    latency = decide(nic.handle, sample, decision)
    assert list(decision)[:3] == [2, 10, 11]
    before = nic.cycles
    assert nic.decide_each(np.array([[2, 9, 11]])).latency[0] == latency
    assert nic.cycles - before == latency + 1  # and one cycle for the sample's own transfer


@pytest.mark.parametrize(("idle", "stall"), [(0, 0), (0.4, 0), (0, 0.4), (0.7, 0.7)])
def test_a_batch_keeps_every_sample(standin: Standin, seed: int, idle: float, stall: float) -> None:
    nic = standin()
    samples = random_samples(seed, 3000)
    run = nic.batch(samples, seed=seed, idle=idle, stall=stall)
    assert np.array_equal(run.decisions, expected(samples))
    assert sorted(run.commit_order) == list(range(3000))
    assert run.latency.min() > 0
    assert nic.decisions == 3000
    assert not nic.pending


def test_the_tricks_for_speed_change_nothing(standin: Standin, seed: int) -> None:
    samples = random_samples(seed, 2000)
    runs = []
    # One evaluation per cycle and no reset, against what Verilator's manual asks for.
    for plain in (False, True):
        nic = standin(plain=plain)
        nic.set_strict(plain)
        nic.axil_write(8, 0x1234_5678)
        assert nic.axil_read(8) == (0x1234_5678, 0)
        runs.append(nic.batch(samples, seed=seed, idle=0.3, stall=0.3))
    assert np.array_equal(runs[0].decisions, runs[1].decisions)
    assert np.array_equal(runs[0].latency, runs[1].latency)
    assert runs[0].cycles == runs[1].cycles


def test_a_reset_forgets_everything(standin: Standin) -> None:
    nic = standin(fault=1)
    nic.axil_write(4, 77)
    nic.batch(random_samples(1, 1), allow_drops=True)
    cycles = nic.cycles
    nic.reset()
    assert nic.axil_read(4) == (0, 0)
    assert nic.cycles > cycles
    assert nic.decide(qp=1, rtt=2, t=3)["rate"] == 3


def test_registers_answer_with_data_and_response(standin: Standin) -> None:
    nic = standin()
    assert nic.axil_write(4, 0xDEAD_BEEF) == 0
    assert nic.axil_write(0, 7) == 0
    assert nic.axil_read(4) == (0xDEAD_BEEF, 0)
    assert nic.axil_write(64, 1) == 2
    assert nic.axil_read(64)[1] == 2


def test_a_nic_that_never_answers_is_reported(standin: Standin) -> None:
    nic = standin(fault=1)
    with pytest.raises(RtlError, match="no answer within the watchdog's 500 cycles"):
        nic.decide(qp=0, rtt=1, t=2)
    with pytest.raises(RtlError, match="3 of 3 samples got no decision"):
        nic.batch(random_samples(1, 3))
    assert list(nic.batch(random_samples(1, 1), allow_drops=True).latency) == [-1]


def test_a_wedged_bus_is_reported(standin: Standin) -> None:
    nic = standin(fault=4)
    with pytest.raises(RtlError, match="no answer"):
        nic.axil_write(0, 1)
    with pytest.raises(RtlError, match="no answer"):
        nic.axil_read(0)


def test_a_decision_too_many_is_reported(standin: Standin) -> None:
    nic = standin(fault=2)
    with pytest.raises(RtlError, match="a decision that no sample asked for"):
        nic.batch(np.array([[0, 1, 2], [1, 1, 2]]))


def test_bad_arguments_have_clear_errors(standin: Standin) -> None:
    nic = standin()
    with pytest.raises(ValueError, match=r"samples must be \(n, 3\), not \(4, 2\)"):
        nic.batch(np.zeros((4, 2), dtype=np.int64))
    with pytest.raises(ValueError, match="watchdog_cycles must be positive, not 0"):
        NicLibrary(nic.path, watchdog_cycles=0)
    nic.close()
    with pytest.raises(RtlError, match="the NIC must be open"):
        nic.idle(1)
