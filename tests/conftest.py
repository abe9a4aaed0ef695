"""Shared fixtures: every random test takes its seed from here and prints it.

`make test` is the gate, so it draws the same every time: each test has a seed of its own, made from
its name. `make soak` draws anew (`--seed new`), many times as much (`--volume`).
"""

import functools
import gc
import os
import random
import shutil
import warnings
import zlib
from collections.abc import Generator, Iterator
from pathlib import Path

import hypothesis
import pytest
from amaranth.hdl import UnusedElaboratable
from tests.waves import ROOT, folder_of, waves

from precog_models.frames import in_one_piece
from precog_sim.rtl.compiling import QUICK
from precog_sim.rtl.verilate import EFFORT, WAVES

# A first call compiles for seconds: how long an example takes says nothing.
hypothesis.settings.register_profile("precog", deadline=None, derandomize=True)
hypothesis.settings.register_profile("new", deadline=None)
_NEW = "new"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--seed", default=None, help=f'seed of every random test, or "{_NEW}": another each time'
    )
    parser.addoption("--captures", type=Path, default=None, help="folder of RoCEv2 captures")
    parser.addoption(
        "--volume", type=int, default=1, help="times the packets or events of a volume test"
    )

    parser.addoption(
        "--waves",
        action="store_true",
        help=f"each simulation of a test that fails leaves a waveform in {ROOT}",
    )


_STARTED = pytest.StashKey[bool]()


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> object:
    """Runs the whole session with its frames in one piece."""
    if config.stash.get(_STARTED, False):
        return None
    config.stash[_STARTED] = True
    return in_one_piece(config.hook.pytest_cmdline_main, config=config)


def pytest_collection_finish() -> None:
    """A fifth of the time of some files went to looking for cycles in what imports have made."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)
    gc.enable()


_FAILED = pytest.StashKey[bool]()


def pytest_configure(config: pytest.Config) -> None:
    gc.disable()  # what is imported and collected stays: a third of that time was for cycles
    for name in ("PRECOG_DEVICE", "PRECOG_TOKEN"):  # an operator's, no test's
        os.environ.pop(name, None)
    if config.getoption("--volume") == 1:
        # Streams are short: a practice and -O2 take longer than what they save.
        os.environ.setdefault(EFFORT, QUICK)
    given = config.getoption("--seed")
    if given is not None and given != _NEW and not given.isdecimal():
        raise pytest.UsageError(f'--seed must be a number or "{_NEW}", not {given!r}')
    hypothesis.settings.load_profile(_NEW if given == _NEW else "precog")
    if config.getoption("--waves"):  # fixtures of a module build before a test's own begin
        shared = ROOT / "shared"
        shared.mkdir(parents=True, exist_ok=True)
        os.environ[WAVES] = str(shared.resolve())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Says where a failing test's waveforms are."""
    report = yield
    if report.failed and item.config.getoption("--waves"):
        item.stash[_FAILED] = True
        files = sorted(path for path in folder_of(item.nodeid).glob("*") if path.is_file())
        report.sections.append(("waveforms", "\n".join(map(str, files))))
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Tables that tests leave as their property ``structure``."""
    for report in terminalreporter.stats.get("passed", ()):
        for name, text in report.user_properties:
            if name == "structure":
                terminalreporter.section(name)
                terminalreporter.write_line(text)


@pytest.fixture(autouse=True)
def _waves(request: pytest.FixtureRequest) -> Iterator[None]:
    """With --waves: waveforms of the test, kept if it fails."""
    if not request.config.getoption("--waves"):
        yield
        return
    folder = folder_of(request.node.nodeid)
    with waves(folder):
        yield
    if not request.node.stash.get(_FAILED, False):
        shutil.rmtree(folder)


@functools.cache
def _constructs_only(path: Path) -> bool:
    """Whether a file's first line tells Amaranth that it constructs what it does not elaborate."""
    with path.open() as file:
        return file.readline().startswith("# amaranth: UnusedElaboratable=no")


@pytest.fixture(autouse=True)
def _collected(request: pytest.FixtureRequest) -> Iterator[None]:
    """Frees what such a file constructed before another file's test would warn of it.

    Amaranth asks the file that constructs a component, so a component's children, which the
    gateware's files construct, warn nevertheless: whenever they happen to be freed.
    """
    if not _constructs_only(request.path):
        yield
        return
    gc.disable()  # what the test makes stays in the youngest generation, quick to go through
    try:
        yield
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnusedElaboratable)
            gc.collect(0)
    finally:
        gc.enable()


def draw(request: pytest.FixtureRequest, name: str) -> int:
    """The seed of what has this name: --seed, or what the name makes; printed."""
    given = request.config.getoption("--seed")
    if given == _NEW:
        value = random.SystemRandom().randrange(2**32)
    else:
        value = zlib.crc32(name.encode()) if given is None else int(given)
    print(f"seed: {value} (repeat with --seed {value})")
    return value


@pytest.fixture
def seed(request: pytest.FixtureRequest) -> int:
    """The test's random seed, shown when it fails."""
    path = request.path.relative_to(request.config.rootpath).as_posix()
    return draw(request, f"{path}::{request.node.name}")


@pytest.fixture
def captures(request: pytest.FixtureRequest) -> list[Path]:
    """Captures that a user brings with --captures; without it a test of them is skipped."""
    folder = request.config.getoption("--captures")
    if folder is None:
        pytest.skip("only with --captures")
    found = sorted(path for path in Path(folder).iterdir() if path.suffix in (".pcap", ".pcapng"))
    assert found, f"--captures must name a folder with captures, not {folder}"
    return found


@pytest.fixture
def volume(request: pytest.FixtureRequest) -> int:
    """How many times as many packets or events as in `make test`; more than once in `make soak`."""
    return int(request.config.getoption("--volume"))
