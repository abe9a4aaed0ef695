"""The closed loop that the fleet asks before a release."""

import pytest

from precog_fleet.evaluate import closed_loop
from precog_models.image import pretrained


def test_the_closed_loop_of_the_simulator() -> None:
    """Through its entry point; a model is exactly as good as itself, seed by seed."""
    run = closed_loop()
    one, other = (pretrained(name).to_bytes() for name in ("queue-1rtt", "queue-4rtt"))
    options = {"seeds": range(2), "scale": 0.1, "networks": ("messages",), "laws": ("dcqcn",)}
    found = run(one, one, **options)
    assert (found["seeds"], found["scale"]) == (2, 0.1)
    (row,) = found["results"]
    assert set(row["live"]) == {"slowdown_p50", "slowdown_p99", "queue_p99_kb"}
    assert set(row) >= {"alone", "persistence", "inverted", "untried"}
    assert row["inverted"] != row["untried"]
    for ratio in row["live"].values():
        assert ratio == {"mean": 1.0, "low": 1.0, "high": 1.0}
    assert row["followed"] > 0
    assert run(other, one, **options)["results"][0]["followed"] != row["followed"]
    far = run(one, one, **options | {"delay_us": 3.0})
    assert far["delay_us"] == 3.0
    assert far["results"][0]["followed"] != row["followed"]
    with pytest.raises(ValueError, match="seeds must be at least 1, not 0"):
        run(one, one, **options | {"seeds": ()})
