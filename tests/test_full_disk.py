"""A full disk: an error that names the file, and nothing of a file under its name."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tests.command_line import ran
from tests.models.data.test_trace import trace
from tests.short_disk import short_disk

from precog_host.sealing import make_token
from precog_models.data.trace import save_traces
from precog_sim import capture

FULL = "File too large"
_BYTES = np.random.default_rng(1).bytes(20_000)


def _capture(path: Path) -> None:
    capture.write(path.with_suffix(".pcap"), [capture.Frame(0, _BYTES, len(_BYTES))])


def _traces(path: Path) -> None:
    save_traces(path, [trace()] * 40)


@pytest.mark.parametrize(("most", "write"), [(1000, _capture), (1000, _traces), (20, make_token)])
def test_a_file_that_is_cut_is_not_left(
    tmp_path: Path, most: int, write: Callable[[Path], None]
) -> None:
    with short_disk(most), pytest.raises(OSError, match=FULL) as error:
        write(tmp_path / "file")
    assert Path(error.value.filename).parent == tmp_path
    assert list(tmp_path.iterdir()) == []


def test_a_command_names_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "precog.lua"
    path.write_text("-- what was there")
    with short_disk(1000):
        done = ran(capsys, "export", "--wireshark", "-o", path)
    assert (done.status, done.out) == (2, "")
    assert done.err == f"error: file {path}: {FULL}\n"
    assert [one.read_text() for one in tmp_path.iterdir()] == ["-- what was there"]
