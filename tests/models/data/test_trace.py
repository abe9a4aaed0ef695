"""Traces: what they refuse, and their file."""

from pathlib import Path

import numpy as np
import pytest

from precog_models.data.trace import Role, RttTrace, load_traces, save_traces


def trace(**changes: object) -> RttTrace:
    values: dict[str, object] = {
        "flow": np.array([0, 1, 0]),
        "t": np.array([10, 10, 30]),
        "rtt": np.array([4200, 4300, 4250]),
        "group": "g",
        "law": "pid",
        "role": Role.SPLIT,
        "card": {"seed": 3, "gains": [-0.2, 0.1]},
        "tick_ps": 8000,
    }
    return RttTrace(**(values | changes))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"flow": np.array([0])}, "must have one length"),
        ({"rtt": np.array([0, 5, 5])}, r"rtt must be in 1..16777215 ticks, not 0..5"),
        ({"rtt": np.array([1, 5, 1 << 24])}, "rtt must be in"),
        ({"t": np.array([10, 9, 30])}, "t must never decrease"),
        ({"tick_ps": 0}, "tick_ps must be positive"),
    ],
)
def test_bad_traces_are_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        trace(**changes)


def test_file_round_trip(tmp_path: Path) -> None:
    path = tmp_path / "traces.npz"
    before = [trace(), trace(role=Role.TEST, group="other", rtt=np.array([1, 2, (1 << 24) - 1]))]
    save_traces(path, before)
    after = load_traces(path)
    assert len(after) == 2
    for a, b in zip(before, after, strict=True):
        for name in ("flow", "t", "rtt"):
            np.testing.assert_array_equal(getattr(a, name), getattr(b, name))
            assert getattr(b, name).dtype == np.int64
        for name in ("group", "law", "role", "card", "tick_ps"):
            assert getattr(a, name) == getattr(b, name)


def test_other_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "traces.npz"
    np.savez(path, x=np.zeros(3))
    with pytest.raises(ValueError, match="must be a file of RTT traces"):
        load_traces(path)
    path.write_bytes(b"PK\x03\x04 not a zip")
    with pytest.raises(ValueError, match="must be a file of RTT traces"):
        load_traces(path)
