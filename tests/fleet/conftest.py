"""A training set of three hosts, and the models that training in one process makes of it."""

from pathlib import Path

import pytest

from precog_fleet.collect import collect
from precog_fleet.dataset import Dataset, load_dataset
from precog_fleet.runner import Here
from precog_fleet.train import train
from precog_models.image import pretrained

from .jobs import SMALL
from .windows import telemetry


@pytest.fixture
def unreachable(monkeypatch: pytest.MonkeyPatch) -> None:
    """A link whose router does not answer is given up after 0.2 s, not 4."""
    monkeypatch.setattr("precog_fleet.uplink._CONNECT_MS", 200)


@pytest.fixture(scope="session")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folders of telemetry, one a host."""
    folder = tmp_path_factory.mktemp("hosts")
    for k in range(3):
        telemetry(folder / f"host{k}", f"host{k}", k)
    return folder


@pytest.fixture(scope="session")
def data(hosts: Path, tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """Their telemetry as a set."""
    folder = tmp_path_factory.mktemp("set")
    collect([hosts], folder)
    return load_dataset(folder)


@pytest.fixture(scope="session")
def trained(data: Dataset, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of models."""
    out = tmp_path_factory.mktemp("trained")
    train(data, pretrained("queue-1rtt"), out, SMALL, Here())
    return out
