"""Announced bytes, their forecast and the scores of it: the whole NIC in RTL and the golden one."""

import random
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from precog_models.packet.shim import decode
from precog_models.predict.lstm import pack
from precog_spec.contract import HeadKind, QueueEvent

from ..models.packet.frames import A_QP, packet
from ..models.predict.weights import random_weights
from .packet_bench import CONFIG, SHIM_AT, Pair, arm, check_registers, open_pair, same_numbers

pytestmark = [pytest.mark.cosim, pytest.mark.xdist_group("port_nic")]

_PORT, _QUEUE = 3, 1  # the slot that is set aside, and of the model map
_SETTLE = 2500  # cycles: two forecasts
_FIRST, _MIDDLE, _LAST, _ONLY, _SEND = 0x06, 0x07, 0x08, 0x0A, 0x04
_CONFIG = replace(CONFIG, port=True)


@pytest.fixture(params=["plain", "relaxed"])
def pair(request: pytest.FixtureRequest, volume: int, seed: int) -> Iterator[Pair]:
    """A relaxed NIC is built with ``--volume`` only."""
    if request.param == "relaxed" and volume == 1:
        pytest.skip("the relaxed NIC is built with --volume only")
    with open_pair(replace(_CONFIG, relaxed=request.param == "relaxed")) as both:
        _arm(both, seed)
        yield both


def _arm(pair: Pair, seed: int) -> None:
    """The port's slot has a model by chance, and packets of slot 1 carry its scores."""
    weights = random_weights(np.random.default_rng(seed), inputs=4, steps=3, outputs=7)
    model = pack(replace(weights, kind=HeadKind.QUEUE, version=9))
    arm(pair)
    for device, path in zip((pair.rtl, pair.golden), pair.paths(), strict=True):
        device.model.write_set(_QUEUE, model)
        device.model.map_slot(_QUEUE, _QUEUE)
        device.qp(_PORT).configure(preset="thesis", enable=True, algorithm="pid")
        assert device.forecast is not None
        device.forecast.configure(_PORT, model_slot=_QUEUE)
        device.forecast.set_parameters(rtt_budget_us=0.2, threshold_bin=2, carry_age_us=0.0)
        assert device.profiler is not None
        device.profiler.set_parameters(every=1)
        assert device.port is not None
        device.port.set_parameters(enable=True, slot=_PORT, epoch_us=1e4, most=60_000)
        path.set_score(1, 37, source="port")


def _data(rng: random.Random, opcode: int, psn: int, announced: int) -> bytes:
    reth = bytes(12) + announced.to_bytes(4, "big") if opcode in (_FIRST, _ONLY) else b""
    payload = rng.randbytes(4 * rng.randrange(1, 250))
    return packet(reth + payload, opcode=opcode, psn=psn, back=True, bth={"dqpn": A_QP})


def _sent(pair: Pair, psn: int) -> int | None:
    """The score of a packet that both send alike."""
    frame = pair.transmit(packet(bytes(9), psn=psn, bth={"ackreq": 0}), settle=_SETTLE)
    _, shim, _ = decode(frame[SHIM_AT : SHIM_AT + 8])
    assert shim is not None
    return shim.score


def _same(pair: Pair) -> int:
    """What both know of the port; the sum."""
    rtl, golden = (device.port for device in (pair.rtl, pair.golden))
    assert rtl is not None
    assert golden is not None
    assert rtl.parameters() == golden.parameters()
    assert rtl.announced() == golden.announced()
    rtl_profiler, golden_profiler = (device.profiler for device in (pair.rtl, pair.golden))
    assert rtl_profiler is not None
    assert golden_profiler is not None
    queue = golden_profiler.queue(_PORT)
    assert rtl_profiler.queue(_PORT) == queue
    assert queue.occupancy == golden.announced()
    assert rtl_profiler.counters() == golden_profiler.counters()
    return golden.announced()


def test_packets_carry_the_forecast_of_the_port(pair: Pair, seed: int) -> None:
    rng = random.Random(seed)
    assert _sent(pair, 0) is None
    scores, sums = set(), set()
    for n in range(30):
        opcode = rng.choice((_FIRST, _FIRST, _MIDDLE, _MIDDLE, _LAST, _ONLY, _SEND))
        announced = rng.choice((900, 5000, 30_000, 0xFFFF_FFFF))
        pair.receive(_data(rng, opcode, n, announced), settle=_SETTLE)
        scores.add(_sent(pair, n + 1))
        if n % 5 == 0:
            sums.add(_same(pair))
    assert len(scores - {None}) > 2
    assert len(sums) > 2

    # What nobody measures has no score: the model is gone, or the port is.
    for device in (pair.rtl, pair.golden):
        device.model.map_slot(_QUEUE, _QUEUE, enable=False)
    assert _sent(pair, 40) is None
    for device in (pair.rtl, pair.golden):
        device.model.map_slot(_QUEUE, _QUEUE)
    pair.receive(_data(rng, _FIRST, 41, 20_000), settle=_SETTLE)
    assert _sent(pair, 42) is not None
    assert _same(pair) > 10_000
    for device in (pair.rtl, pair.golden):
        assert device.port is not None
        device.port.set_parameters(enable=False)
    pair.nic.block.tick(2000)
    assert _sent(pair, 43) is None
    assert _same(pair) == 0

    # A reset withdraws, too.
    for device in (pair.rtl, pair.golden):
        assert device.port is not None
        device.port.set_parameters(enable=True)
    pair.receive(_data(rng, _FIRST, 44, 20_000), settle=_SETTLE)
    assert _same(pair) > 10_000
    for device in (pair.rtl, pair.golden):
        device.reset.begin(["rtt"])
    pair.nic.block.tick(2000)
    assert _same(pair) == 0
    rtl, golden = (device.forecast for device in (pair.rtl, pair.golden))
    assert rtl is not None
    assert golden is not None
    assert rtl.counters() == golden.counters()
    same_numbers(pair)


def test_events_of_queues_go_first_and_none_is_lost(
    pair: Pair, seed: int, request: pytest.FixtureRequest
) -> None:
    """A queue pair's own events in every cycle hold the port's back, which are added up."""
    rng = random.Random(seed)
    block = pair.nic.block
    begun = block.cycles
    with pair.nic.happening(QueueEvent.ARRIVAL, 2, 1, 0):
        for n in range(6):
            pair.receive(_data(rng, _FIRST, n, 9000 + n))
        port, profiler = pair.rtl.port, pair.rtl.profiler
        assert port is not None
        assert profiler is not None
        assert port.announced() > 7000
        held = block.cycles - begun
    block.tick(20_000)  # relaxed, 256 events wait before those of the port
    assert profiler.queue(_PORT).occupancy == port.announced()
    golden = pair.golden.profiler
    assert golden is not None
    wanted, got = golden.queue(_PORT), profiler.queue(_PORT)
    assert (got.bytes_in, got.bytes_out) == (wanted.bytes_in, wanted.bytes_out)
    assert got.arrivals < wanted.arrivals
    if request.node.callspec.params["pair"] == "plain":
        assert profiler.queue(2).arrivals == held


def test_registers(seed: int) -> None:
    check_registers(_CONFIG, 1600, seed)
