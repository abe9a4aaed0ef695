"""The curves file."""

from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from precog_sim.report.series import CDF_P, SERIES_FILE, Series, quantiles


def test_round_trip_is_exact(tmp_path: Path, series: Series) -> None:
    series.save(tmp_path)
    back = Series.load(tmp_path)
    for group in ("predpid", "pid", "off", "on", "prediction", "training"):
        for field in fields(getattr(series, group)):
            ours = getattr(getattr(series, group), field.name)
            assert np.array_equal(ours, getattr(getattr(back, group), field.name)), field.name
            assert getattr(getattr(back, group), field.name).dtype == ours.dtype
    assert set(back.cdf) == set(series.cdf)
    assert all(np.array_equal(series.cdf[name], back.cdf[name]) for name in series.cdf)


def _edited(directory: Path, name: str, value: np.ndarray | None) -> Path:
    with np.load(directory / SERIES_FILE) as file:
        arrays = {key: file[key] for key in file.files}
    if value is None:
        del arrays[name]
    else:
        arrays[name] = value
    np.savez_compressed(directory / SERIES_FILE, **arrays)
    return directory


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("predpid.rtt_us", None, "array predpid.rtt_us must be present, not missing"),
        ("pid.rate_gbps", np.ones(3), r"array pid.rate_gbps must have \d+ entries, not 3"),
        ("pid.queue_kb", np.ones((2, 2)), r"pid.queue_kb must be a non-empty vector, not shape"),
        ("training.test", np.ones(0), r"training.test must be a non-empty vector, not shape \(0,"),
        ("cdf.hpcc", np.ones(3), r"cdf.hpcc must have \d+ quantiles, not 3"),
    ],
)
def test_wrong_arrays_are_refused_by_name(
    result_dir: Path, name: str, value: np.ndarray | None, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        Series.load(_edited(result_dir, name, value))


def test_quantiles_resolve_the_tail(seed: int) -> None:
    samples = np.random.default_rng(seed).gamma(2, 3, 5000)
    kept = quantiles(samples)
    assert kept.shape == CDF_P.shape
    assert kept[0] == np.float32(samples.min())
    assert kept[-1] == np.float32(samples.max())
    at_99 = kept[np.argmin(np.abs(CDF_P - 0.99))]
    assert at_99 == np.float32(np.quantile(samples, 0.99))
    assert np.count_nonzero(CDF_P > 0.99) >= 50
    with pytest.raises(ValueError, match="samples must be a non-empty array"):
        quantiles(np.array([]))
