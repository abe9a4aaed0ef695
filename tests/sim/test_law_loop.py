"""The law engine in the network's loop: RTL against golden, golden against the simulator's laws."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
from tests.command_line import ran

from precog_host.device import Device
from precog_host.emulator.device import Emulator
from precog_host.transport import Transport
from precog_models.laws.compiler.compile import Compiled, compile_law
from precog_models.laws.compiler.load import Law
from precog_sim import law_loop
from precog_sim.law_loop import EngineRun, EngineSetup, compare_engines, run_with_engine
from precog_sim.network import Ecn, Hints, Scenario, incast, run
from precog_sim.network.asking import LOG_FIELDS
from precog_sim.network.program_law import Programmed
from precog_spec.config import NicConfig
from precog_spec.engine.events import Kind
from precog_spec.law_fields import SENDERS_AT

_RTL = "sim:tiny,law_cores=1"  # four queue pairs
_EVENT, _QP = LOG_FIELDS.index("event"), LOG_FIELDS.index("qp")


def _golden(setup: EngineSetup, scenario: Scenario) -> EngineRun:
    with Device.open("emu:law_cores=1,qps=32") as device:
        return run_with_engine(device, setup, scenario)


def _short(bytes_: int) -> Scenario:
    """Three flows whose packets are marked early."""
    sizes = [bytes_, bytes_ // 2, bytes_ // 3]
    return dataclasses.replace(incast("hundredth", sizes=sizes), ecn=Ecn(2000, 20_000, 0.5))


def test_the_golden_engine_is_near_the_simulators_own_law() -> None:
    """The same file; but the card learns its base RTT, which the simulator knows."""
    scenario = incast("hundredth")
    setup = EngineSetup("swift", start_gbps=10.0)
    golden = _golden(setup, scenario)
    own = run(scenario, Programmed(module="swift", start_gbps=10.0))
    assert golden.result.finished
    packets = sum(-(-flow.size // scenario.payload) for flow in scenario.flows)
    kinds = np.bincount(golden.log[:, _EVENT], minlength=len(Kind))
    # Every packet is acknowledged; a packet in flight at a time is a round trip's sample.
    assert kinds[Kind.ACK] == packets
    assert kinds[Kind.SAMPLE] == len(golden.result.sample_flow) > packets // 20
    assert kinds[Kind.ACK] + kinds[Kind.SAMPLE] == len(golden.log)
    assert set(golden.log[:, _QP].tolist()) >= set(range(1, 20))
    assert golden.result.fct_us.mean() == pytest.approx(own.fct_us.mean(), rel=0.05)
    means = [one.sample_rtt_us.mean() for one in (golden.result, own)]
    assert means[0] == pytest.approx(means[1], rel=0.05)


def test_a_law_is_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[Law] = []

    def counted(law: Law) -> Compiled:
        compiled.append(law)
        return compile_law(law)

    monkeypatch.setattr(law_loop, "compile_law", counted)
    setup = EngineSetup("timely")
    setup.compiled({})
    _golden(setup, _short(3000))
    assert len(compiled) == 1


@pytest.mark.parametrize(("values", "reach"), [({}, 12_240), ({"reach": 5.0}, 5000)])
def test_a_device_s_law_is_told_facts_of_the_network(
    values: dict[str, float], reach: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Device.open("emu:law_cores=1") as device:
        assert device.law is not None
        told: dict[str, int] = {}
        monkeypatch.setattr(device.law, "load", lambda _, given, slot: told.update(given))
        facts = {"network_base": 12.24, "mark_delay": 1.6}
        EngineSetup("lockstep", values=values).apply(device, 0, facts)
    assert (told["reach"], told["marks"]) == (reach, 1600)


@pytest.mark.cosim
@pytest.mark.xdist_group("law_engine")
@pytest.mark.parametrize("law", ["lockstep", "timely", "dcqcn"])
def test_the_rtl_in_the_loop_decides_as_the_golden_engine(law: str) -> None:
    setup = EngineSetup(law, start_gbps=40.0)
    scenario = _short(240_000 if law == "timely" else 60_000)
    golden = _golden(setup, scenario)
    with Device.open(_RTL) as device:
        rtl = run_with_engine(device, setup, scenario)
    found = compare_engines(golden, rtl)
    assert (found.mismatches, found.first) == (0, "")
    assert found.decisions == len(golden.log) > 5
    kinds = set(golden.log[:, _EVENT].tolist())
    wanted = {"lockstep": {Kind.ACK}, "timely": set(), "dcqcn": {Kind.ACK, Kind.CNP, Kind.TIMER}}
    assert kinds == {Kind.SAMPLE} | wanted[law]


@pytest.mark.cosim
@pytest.mark.xdist_group("law_engine")
@pytest.mark.parametrize("believed", [None, 5])
def test_the_rtl_in_the_loop_hears_its_receivers_level_as_the_golden_engine(
    believed: int | None,
) -> None:
    """Three flows are a level of 2: the law cuts its windows, which it does not without a word.

    A belief is a word before the first acknowledgement.
    """
    network = incast("hundredth", senders=3, sizes=[240_000 if believed is None else 60_000] * 3)
    guesses = () if believed is None else (believed,) * 3
    hints = Hints(echo=True, least=30_000, guesses=guesses)
    scenario = dataclasses.replace(network, hints=hints)
    setup = EngineSetup("lockstep_hints", values={"sign": 1.0}, start_gbps=100.0)
    golden = _golden(setup, scenario)
    with Device.open(_RTL) as device:
        rtl = run_with_engine(device, setup, scenario)
    found = compare_engines(golden, rtl)
    assert (found.mismatches, found.first) == (0, "")
    assert found.decisions == len(golden.log)
    told = golden.log[golden.log[:, _EVENT] == Kind.SCORE]
    levels = (told[:, 4] >> SENDERS_AT).tolist()
    assert set(levels) >= {1, 2} if believed is None else levels[:3] == [believed] * 3
    if believed is not None:
        return
    unheard = _golden(setup, network)
    assert Kind.SCORE not in unheard.log[:, _EVENT]
    assert golden.result.max_queue <= unheard.result.max_queue
    assert (golden.result.fct_us != unheard.result.fct_us).any()


@pytest.mark.cosim
@pytest.mark.xdist_group("law_engine")
def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    words = "sim law lockstep --scenario hundredth --senders 3 --size 20000 --start-gbps 40"
    done = ran(capsys, *words.split(), "--device", _RTL, "-j")
    assert not done.status, done.err
    record = json.loads(done.out)
    assert (record["mismatches"], record["first"], record["finished"]) == (0, "", True)
    assert record["decisions"] == record["counters"]["events"] > 60
    assert record["counters"]["safe"] == record["counters"]["overrun"] == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("absent.py", "law absent.py must be a readable file"),
        ("swift gain=1", "parameter must be one of"),
        ("swift --preset mine", "preset of swift must be one of default"),
        ("swift --timing late", "timing must be exact or ns3, not 'late'"),
        ("swift --start-gbps 0", "start_gbps must be in 1..100, not 0.0"),
        ("swift --start-gbps nan", "start_gbps must be in 1..100, not nan"),
        ("swift --senders 99", "flows must be at most the device's 32 queue pairs, not 99: open"),
        ("swift -d sim:tiny,qps=32", "device must have a law engine: open it with law_cores=1"),
        ("swift -d sim:tiny,qps=32,law_cores=1,width=64", "device in the loop must have no packe"),
        ("swift -d sim:law_cores=3", "simulator: law_cores must be"),
    ],
)
def test_a_wrong_argument_is_refused_before_its_device_is_built(
    words: str, message: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Device, "open", None)
    done = ran(capsys, "sim", "law", *words.split(), "--scenario", "hundredth")
    assert done.status == 2
    assert done.err.startswith(f"error: {message}"), done.err


def test_a_difference_is_named() -> None:
    one = _golden(EngineSetup("timely"), _short(3000))
    log = one.log.copy()
    log[1, LOG_FIELDS.index("rate")] += 1
    found = compare_engines(one, EngineRun(one.result, log))
    rate = one.log[1, LOG_FIELDS.index("rate")]
    assert found.first == f"decision 1, field rate: {rate} against {rate + 1}"
    assert found.mismatches == 1
    found = compare_engines(one, EngineRun(one.result, one.log[:-1]))
    assert found.mismatches == 1
    assert found.first == f"{len(one.log)} decisions against {len(one.log) - 1}"


@pytest.mark.parametrize(
    ("uri", "law", "message"),
    [
        ("emu:", "swift", "device must have a law engine: open it with law_cores=1"),
        ("emu:law_cores=1,qps=2", "swift", "flows must be at most the device's 2 queue pairs, no"),
        ("emu:law_cores=1,tick_ps=2000", "swift", "device in the loop must have a tick of 1000"),
        ("emu:law_cores=1", "cubic", "law must be a file that ends in .py, or"),
    ],
)
def test_refused(uri: str, law: str, message: str) -> None:
    with Device.open(uri) as device, pytest.raises(ValueError, match=message):
        run_with_engine(device, EngineSetup(law), _short(3000))


def test_a_device_behind_a_wire_is_refused_when_it_is_checked() -> None:
    class Wire(Transport):
        def read32(self, address: int) -> int:
            return emulator.read32(address)

        def write32(self, address: int, value: int) -> None:
            emulator.write32(address, value)

        def close(self) -> None:
            emulator.close()

    emulator = Emulator(NicConfig(qps=32, law_cores=1))
    with pytest.raises(ValueError, match="must be emu: or sim:, not one behind a wire"):
        EngineSetup("swift").check(Device(Wire()), 3)


def test_a_file_that_is_no_law(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text("x = 1\n")
    with Device.open("emu:law_cores=1") as device, pytest.raises(ValueError, match="PARAMETERS"):
        run_with_engine(device, EngineSetup(path), _short(3000))
