"""Agents and routers on folders over Zenoh, the look of a fleet, metrics, `fleet up`."""

import json
import re
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, suppress
from importlib import resources
from pathlib import Path

import pytest
from tests.command_line import Ran, Run, ran

from precog_fleet import trial
from precog_fleet.agent_process import AgentProcess
from precog_fleet.ahead import Ahead
from precog_fleet.authority import Authority
from precog_fleet.clock import now_ms
from precog_fleet.errors import FleetError
from precog_fleet.exporter import MLX5_NAMES, MemberCollector, serve_metrics
from precog_fleet.looking import Look, view
from precog_fleet.member import Member
from precog_fleet.places import BusyError
from precog_fleet.practice import PRACTICE_URI
from precog_fleet.router_process import RouterProcess
from precog_fleet.trainer_process import TrainerNode
from precog_fleet.trial import Trial

from .meshed import Lab


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    made = Lab(tmp_path)
    yield made
    made.stop()


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def go(*arguments: object) -> Ran:
        return ran(capsys, "fleet", *arguments)

    return go


def turns(processes: list[AgentProcess | RouterProcess], until: Callable[[], object]) -> None:
    end = now_ms() + 120_000  # a busy machine took 30 s
    while not until():
        assert now_ms() < end, "nothing happens"
        for process in processes:
            process.turn()


def wide() -> str:
    """A card with everything that has counters."""
    return PRACTICE_URI.replace("profile=1", "profile=1,width=64,cnps=1,icrc=1,destinations=1")


def exported(process: AgentProcess | RouterProcess) -> dict[str, set[str]]:
    """Labels of each sample that Prometheus would get, by its name."""
    found: dict[str, set[str]] = {}
    for family in MemberCollector(process).collect():
        for sample in family.samples:
            found.setdefault(sample.name, set()).update(sample.labels)
    return found


def test_two_agents_and_a_router(lab: Lab) -> None:
    """Records flow, the router's restart loses nothing, and everything can be looked at."""
    with ExitStack() as stack:
        _run_two(lab, stack)


def _run_two(lab: Lab, stack: ExitStack) -> None:
    router = lab.member("rack0", "router")
    hosts = [lab.member(name) for name in ("host0", "host1")]
    agents = [AgentProcess(host.folder, [wide()], practice=True) for host in hosts]
    for agent in agents:
        stack.callback(agent.close)
        agent.agent.ahead = Ahead(quorum=2)
        agent.turn()  # without a router it reads its cards
        assert agent.snapshot["link"] != "up"
    relay = RouterProcess(router.folder)
    closed: list[RouterProcess] = []
    stack.callback(lambda: closed or relay.close())
    everybody: list[AgentProcess | RouterProcess] = [relay, *agents]
    key = "dst/10.0.0.1"
    turns(everybody, lambda: all(len([*a.agent.store.entries(key)]) == 2 for a in agents))
    turns(everybody, lambda: relay.store.entry("host1", "health/host1"))
    look = stack.enter_context(closing(Look(hosts[0])))
    turns(everybody, lambda: look.turn(0.01) or look.mesh.equal_at)  # type: ignore[func-returns-value]
    found = look.settle()
    states = {row["name"]: (row["role"], row["state"]) for row in found["members"]}
    assert states["host1"] == ("agent", "alive")
    assert states["rack0"][0] == "router"
    assert {row["destination"] for row in found["hotspots"]} >= {"10.0.0.0", "10.0.0.3"}
    status = json.loads((hosts[0].folder / "status.json").read_text())
    assert status["cards"][0]["up"]
    assert status["link"] == "up"

    url = serve_metrics("127.0.0.1:0", agents[0])
    with urllib.request.urlopen(url, timeout=5) as answer:
        text = answer.read().decode()
    assert 'precog_card_up{device="emu:' in text
    # On a slow machine the last reports may just have grown too old to count.
    turns(everybody, lambda: "precog_destination_score" in exported(agents[0]))
    names = exported(agents[0])
    for name, labels in exported(relay).items():
        names.setdefault(name, set()).update(labels)
    for mlx5 in MLX5_NAMES.values():
        assert f"rdma_hw_{mlx5}_total" in names
    check_dashboard(names)

    relay.close()
    closed.append(relay)
    again = RouterProcess(router.folder)
    stack.callback(again.close)
    assert again.store.entry("host0", "health/host0") is not None  # from its disk
    heard = agents[1].agent.counts["turns"]
    turns([again, *agents], lambda: agents[1].agent.counts["turns"] > heard + 5)
    with pytest.raises(ValueError, match="must be a member of role router, not agent"):
        RouterProcess(hosts[0].folder)


def test_a_trainer_that_runs_is_alive(lab: Lab) -> None:
    folders = [lab.member(*of).folder for of in (("rack0", "router"), ("trainer0", "trainer"))]
    with closing(RouterProcess(folders[0])) as relay, closing(TrainerNode(folders[1])) as node:

        def told() -> list[str]:
            node.turn(wait_s=0.0)
            members = view(relay.store, now_ms())["members"]
            return [row["state"] for row in members if row["name"] == "trainer0"]

        turns([relay], lambda: told() == ["alive"])


def check_dashboard(names: dict[str, set[str]]) -> None:
    """Every panel asks for metrics and labels that members export."""
    place = resources.files("precog_fleet") / "data" / "dashboard.json"
    board = json.loads(place.read_text())
    panels = board["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels) >= 12
    cells: set[tuple[int, int]] = set()
    for panel in panels:
        at = panel["gridPos"]
        area = {
            (x, y)
            for x in range(at["x"], at["x"] + at["w"])
            for y in range(at["y"], at["y"] + at["h"])
        }
        assert max(x for x, _ in area) < 24
        assert not area & cells, panel["title"]
        cells |= area
        assert panel["title"]
        for target in panel["targets"]:
            expression = target["expr"]
            used = set(re.findall(r"\b(?:precog|rdma_hw)_[a-z0-9_]+", expression))
            assert used, expression
            assert used <= names.keys(), f"{panel['title']}: {used - names.keys()}"
            labels = set(re.findall(r'([a-z_]+)(?:=|!=|=~|!~)"', expression))
            labels |= set(re.findall(r"{{([a-z_]+)}}", target["legendFormat"]))
            for name in used:
                assert labels <= names[name], f"{panel['title']}: {labels - names[name]}"
    variables = [one["name"] for one in board["templating"]["list"]]
    assert variables == ["datasource", "member"]
    assert "precog_member" in names


def test_a_dashboard_that_asks_for_nothing_is_found() -> None:
    with pytest.raises(AssertionError, match="precog_card_up"):
        check_dashboard({"precog_member": {"member", "role"}})


def start(made: Trial) -> None:
    """Start a fleet, and wait until it works."""
    made.start()
    while not made.ready():
        time.sleep(0.1)


def test_a_fleet_for_a_first_try(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Members start, one that is killed is missed, all end; a second start finds the first."""
    made = Trial(tmp_path / "fleet", 2)
    try:
        made.start()
        assert list(made._running) == made.members[:2]  # the other agent waits for the compiler
        while not made.ready():
            time.sleep(0.1)
        assert list(made._running) == made.members
        process = made._running[made.members[1]]
        process.kill()
        process.wait()
        with pytest.raises(FleetError, match="host0 must run, but has ended: "):
            made.check()
    finally:
        made.stop()
    keys = (tmp_path / "fleet" / "host0" / "signing.key").read_bytes()
    again = Trial(tmp_path / "fleet", 2)
    assert (tmp_path / "fleet" / "host0" / "signing.key").read_bytes() == keys
    assert again.members == made.members
    try:
        with pytest.raises(BusyError, match="fleet is in use: end the process that works on it"):
            Trial(tmp_path / "fleet", 1)
        monkeypatch.setattr(trial, "PRACTICE_URI", "emu:qps=4")
        with pytest.raises(FleetError, match="device emu:qps=4: practice needs a card such as"):
            start(again)
    finally:
        again.stop()


@pytest.mark.parametrize("step", ["approve", "join"])
def test_a_fleet_whose_making_was_interrupted_is_made_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as during:
        during.setattr(Authority if step == "approve" else Member, step, killed)
        with pytest.raises(KeyboardInterrupt):
            Trial(tmp_path / "fleet", 1)
    made = Trial(tmp_path / "fleet", 1)
    assert [Member(Path(folder)).name for folder in made.members] == ["rack0", "host0"]
    made.stop()


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_a_signal_while_a_fleet_starts_leaves_no_member(
    tmp_path: Path, number: signal.Signals, status: int
) -> None:
    command = [sys.executable, "-m", "precog_fleet", "up", str(tmp_path / "fleet"), "--agents", "1"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as fleet:
        assert fleet.stderr is not None
        end = time.monotonic() + 60
        while not members(tmp_path, but=fleet.pid):
            assert fleet.poll() is None, fleet.stderr.read()
            assert time.monotonic() < end
            time.sleep(0.01)
        fleet.send_signal(number)
        started, *said = fleet.stderr.read().splitlines()
    assert started.startswith("starting; the first time an agent compiles")
    assert (fleet.returncode, said) == (
        status,
        ["error: command was interrupted"] if status else [],
    )
    assert not members(tmp_path)


def members(folder: Path, but: int = 0) -> list[int]:
    """Processes that were told a folder under `folder`."""
    found = []
    for words in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):  # it has just ended
            if str(folder).encode() in words.read_bytes() and int(words.parent.name) != but:
                found.append(int(words.parent.name))
    return found
