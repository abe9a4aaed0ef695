"""A refused command leaves every register of the device as it was."""

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.command_line import ran
from tests.sw.links import udp_server
from tests.sw.refusals import ANYTHING, RUNS, Run

from precog_host.application import command_line
from precog_host.device import Device
from precog_host.emulator.device import Emulator
from precog_host.emulator.opening import open_emulator
from precog_models.image import pretrained

from .support import random_samples

_FULL = (
    "qps=8,sets=4,width=64,grants=1,wire=256,profile=1,forecast=1,receiver=1,senders=1,port=1,"
    "trace=1,macs=2"
)
_BARE = "qps=4,sets=2,laws=0,ecc=0"
#: What a command may write before it is refused: it reads rows of windows.
_READS = {"SELECT", "PLACE", "KNOT", "ERROR", "COMMAND.fetch"}


class Served:
    """A device of golden models that others reach over UDP; it remembers what they write.

    It forgets a snapshot of the counters once one of them is read: that is how they are read.
    """

    def __init__(self, argument: str) -> None:
        self.card: Emulator = open_emulator(argument)
        self.written: set[str] = set()
        self.uri = ""
        self._words = {word.address: word for word in self.card.map.words()}
        self._at = {word.name: address for address, word in self._words.items()}
        self._kept = self.card.map.block("COUNTERS").register("COMMAND").affects

    def read32(self, address: int) -> int:
        word = self._words[address]
        if word.table is not None and f"{word.block.name}.{word.table.name}" in self._kept:
            self.written.discard("COMMAND.snapshot")
        return self.card.read32(address)

    def write32(self, address: int, value: int) -> None:
        register = self._words[address].register
        assert register is not None
        if register.name == "COMMAND":
            bits = [field.name for field in register.fields if field.get(value)]
            self.written.update(f"COMMAND.{name}" for name in bits)
        else:
            self.written.add(register.name)
        self.card.write32(address, value)

    def close(self) -> None:
        pass

    def everything(self) -> dict[str, int]:
        """Every word: of registers, tables and rows behind windows, and counters of now."""
        found = {}
        command = self.card.map.block("COUNTERS").register("COMMAND")
        self._put("COUNTERS", "COMMAND", command.field("snapshot").put(0, 1))
        for placed in self.card.map.blocks:
            block = placed.block
            names = [register.name for register in block.registers]
            if "COMMAND" not in names:
                continue
            if "fetch" not in [field.name for field in block.register("COMMAND").fields]:
                continue
            for place in self._places(block.name):
                where = "SELECT" if "SELECT" in names else "PLACE"
                self._put(block.name, where, place)
                self._put(block.name, "COMMAND", block.register("COMMAND").field("fetch").put(0, 1))
                for name in names:
                    found[f"{block.name}[{place}].{name}"] = self._get(block.name, name)
        return found | {
            word.name: self.card.read32(word.address)
            for word in self._words.values()
            if word.name != "FORECAST.KNOT_VALUE"
        }

    def _places(self, block: str) -> Iterator[int]:
        sizes = self.card.sizes
        if block == "LOOKUP":
            fields = self.card.map.block(block).register("PLACE").fields
            way, row = (next(f for f in fields if f.name == name) for name in ("way", "row"))
            for n in range(2 * sizes.qps):
                yield row.put(way.put(0, n % 2), n // 2)
        else:
            yield from range(16 if block == "DESTINATION" else sizes.qps)

    def _get(self, block: str, register: str) -> int:
        return self.card.read32(self._at[f"{block}.{register}"])

    def _put(self, block: str, register: str, value: int) -> None:
        self.card.write32(self._at[f"{block}.{register}"], value)


@pytest.fixture
def served(request: pytest.FixtureRequest) -> Iterator[Served]:
    """A device with something of everything; for a parameter, one built as that says."""
    made = Served(getattr(request, "param", _FULL))
    if not hasattr(request, "param"):
        with Device(made) as device:
            prepare(device)
    with udp_server(made) as server:
        made.uri = f"udp:127.0.0.1:{server.port}"
        yield made


def prepare(device: Device) -> None:
    """Queue pairs 1 and 2, a model in slot 0 and set 0, a queue model in slot 1, records."""
    device.model.load(pretrained(), slot=0)
    device.model.load(pretrained("queue-1rtt"), slot=1, queue=True)
    assert device.packet is not None
    assert device.trace is not None
    device.packet.bind(2, "10.0.0.7", remote_qp=17, local_qp=18, destination=5, score=44)
    for number in (1, 2):
        device.qp(number).configure(preset="precog", enable=True, algorithm="pid")
    device.packet.enable_destination(5)
    device.trace.configure(kinds=("decision",))
    card = device.transport
    assert isinstance(card, Served)
    card.card.decide(random_samples(1, 20, [1, 2]))


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Files that runs name."""
    qp = {"type": "RC", "state": "RTS", "rqpn": 22, "ifname": "mlx5_0"}
    listed = [{**qp, "lqpn": 21}, {**qp, "lqpn": 23}]
    (tmp_path / "list.json").write_text(json.dumps(listed))
    (tmp_path / "one.json").write_text(json.dumps(listed) + "\n")
    (tmp_path / "cut.safetensors").write_bytes(pretrained().to_bytes()[:900])
    return tmp_path


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str]]:
    def go(*arguments: str) -> tuple[int, str]:
        done = ran(capsys, *arguments)
        return done.status, done.err

    return go


def commands() -> dict[str, Any]:
    """Every command on a device, plug-ins too, by its words."""

    def walk(command: Any, path: str) -> Iterator[tuple[str, Any]]:
        children = getattr(command, "commands", None)
        if children is None and any(one.name == "device" for one in command.params):
            yield path, command
        for name, child in (children or {}).items():
            yield from walk(child, f"{path} {name}".strip())

    return dict(walk(command_line(), ""))


def parameters(command: Any) -> dict[str, bool]:
    """Names of a command's own parameters, and whether it is a flag."""
    return {
        one.name: bool(getattr(one, "is_flag", False))
        for one in command.params
        if one.name not in ("device", "json_", "help")
    }


def words(path: str, chosen: dict[str, str], files: Path, uri: str) -> list[str]:
    given = [text.format(tmp=files) for text in chosen.values()]
    return [*path.split(), *" ".join(given).split(), "-d", uri]


def test_each_parameter_of_each_command_is_listed() -> None:
    """A command or a parameter that is added without a wrong value of it fails here."""
    found = commands()
    assert len(found) > 50
    takes = {path: parameters(command) for path, command in found.items()}
    assert set(RUNS) <= set(found), "RUNS must name commands that there are"
    for path, named in takes.items():
        needed = {name for name, flag in named.items() if not flag and (path, name) not in ANYTHING}
        assert path in RUNS or not needed, f"{path} must have a run that is refused"
        listed = RUNS.get(path, Run())
        assert set(listed.good) | set(listed.bad) <= set(named), path
        assert needed <= set(listed.bad), f"{path} must have a wrong {needed - set(listed.bad)}"


@pytest.mark.parametrize("path", sorted(RUNS))
def test_refused_commands_leave_the_device_alone(
    path: str, served: Served, files: Path, run: Callable[..., tuple[int, str]]
) -> None:
    listed = RUNS[path]
    if listed.first:
        assert run(*listed.first.split(), "-d", served.uri)[0] == 0
    before = served.everything()
    for name, wrong in listed.bad.items():
        served.written.clear()
        arguments = words(path, listed.good | {name: wrong}, files, served.uri)
        status, said = run(*arguments)
        assert status in (1, 2), f"{arguments} must be refused"
        assert said.startswith("error: "), said
        assert "internal" not in said
        assert served.written <= _READS, f"{arguments} wrote first: {said}"
        assert served.everything() == before, f"{arguments} changed the device: {said}"
    if not listed.good:
        return
    served.written.clear()
    status, said = run(*words(path, listed.good, files, served.uri))
    assert status == 0, said
    assert (served.everything() != before) == listed.changes


@pytest.mark.parametrize("served", [_BARE], indirect=True, ids=["bare"])
def test_a_device_without_the_part_is_left_alone(
    served: Served, files: Path, run: Callable[..., tuple[int, str]]
) -> None:
    refused = 0
    for path, listed in RUNS.items():
        if not listed.good:
            continue
        before = served.everything()
        served.written.clear()
        status, said = run(*words(path, listed.good, files, served.uri))
        if status:
            refused += 1
            assert said.startswith("error: "), said
            assert served.written <= _READS, f"{path} wrote first: {said}"
            assert served.everything() == before, f"{path}: {said}"
    assert refused > 20
    shutil.rmtree(files)
