"""The result file: what was written is what is read, and what is not a result is refused."""

import dataclasses
import json
from typing import Any

import numpy as np
import pytest

from precog_sim.report.codec import decode, encode
from precog_sim.report.data import Cell, DemoResult, Mape


def test_round_trip_is_exact(result: DemoResult) -> None:
    assert DemoResult.from_json(result.to_json()) == result


def test_machine_keys_are_the_promised_ones(result: DemoResult) -> None:
    data = json.loads(result.to_json())
    assert {"predictions", "mismatches", "lanes"} <= set(data["rtl_vs_golden"])
    assert {
        "decisions",
        "mismatches",
        "predictions_per_cpu_s",
        "cycles_per_decision",
        "lanes",
        "transport",
    } <= set(data["loop"])
    assert {
        "float",
        "integer",
        "ar3",
        "persistence",
        "linear",
        "unbalanced",
        "unseen",
        "thesis_preset",
    } <= set(data["mape"])
    assert "packets_per_cpu_s" in data["simulator"]
    assert {"wall_s", "stages", "hardware", "model_card", "commit", "date", "seeds"} <= set(data)
    assert set(data["tables"]) == {"table1", "table4", "table5", "table6", "figure19", "ns3"}
    cell = data["tables"]["table6"][0]["cells"]["mean_rtt_us"]
    assert {"mean", "ci95", "n", "thesis", "unit"} <= set(cell)


def test_balanced_repeats_the_top_figures(result: DemoResult) -> None:
    shared = {f.name for f in dataclasses.fields(result.mape.balanced)}
    assert shared <= {f.name for f in dataclasses.fields(Mape)}
    for name in shared:
        assert getattr(result.mape.balanced, name) == getattr(result.mape, name)


def _set(data: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    *parents, last = path.split(".")
    inner = data
    for key in parents:
        inner = inner[key]
    if value is KeyError:
        del inner[last]
    else:
        inner[last] = value
    return data


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("loop.decisions", KeyError, "loop.decisions must be present, not missing"),
        ("loop.decisions", 1.5, "loop.decisions must be an integer, not 1.5"),
        ("loop.decisions", True, "loop.decisions must be an integer, not True"),
        ("loop.extra", 1, "loop.extra must be a known key, not an unknown one"),
        ("mape.float", "3", "mape.float must be a number, not '3'"),
        ("mape.unseen", [], r"mape.unseen must be an object, not \[\]"),
        ("stages", {}, "stages must be a list, not {}"),
        ("stages", [3], r"stages\[0\] must be an object, not 3"),
        ("commit", 7, "commit must be text, not 7"),
        ("schema", 99, "schema must be 3, not 99"),
    ],
)
def test_wrong_files_are_refused_by_key(
    result: DemoResult, path: str, value: Any, message: str
) -> None:
    data = _set(json.loads(result.to_json()), path, value)
    with pytest.raises(ValueError, match=message):
        DemoResult.from_json(json.dumps(data))


@pytest.mark.parametrize("text", ["", "[1]", '{"schema": 1', "null"])
def test_what_is_no_result_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"must be|Expecting"):
        DemoResult.from_json(text)


def test_numpy_numbers_become_plain_ones() -> None:
    cell = Cell(np.float64(1.5), None, np.int64(3), "µs")  # type: ignore[arg-type]
    assert decode(Cell, json.loads(json.dumps(encode(cell)))) == Cell(1.5, None, 3, "µs")


@pytest.mark.parametrize("value", [float("nan"), float("inf"), np.float32("nan")])
def test_figures_must_be_finite(value: float) -> None:
    with pytest.raises(ValueError, match="must be finite"):
        encode(Cell(value, None, 1, ""))


def test_other_objects_have_no_json_form() -> None:
    with pytest.raises(TypeError, match="must be JSON data, not set"):
        encode({"a": {1}})
