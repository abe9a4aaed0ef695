"""Trees on a device: made of queue traces, loaded, forecasting, refused where they do not fit."""

import json
from pathlib import Path

import numpy as np
import pytest
from tests.command_line import Run
from tests.models.predict.trees import broken_images, random_tree

from precog_host.device import Device
from precog_host.emulator.device import Emulator
from precog_host.transport import DeviceError
from precog_models.data.queue_trace import save_queue_traces
from precog_models.forecast.forecaster import Forecaster
from precog_models.image import pretrained
from precog_models.predict.tree import tree_predict
from precog_models.predict.tree_model import pack_tree
from precog_models.tree_image import TreeImage, load_any
from precog_spec.config import NicConfig
from precog_spec.contract import NO_SCORE

from .test_fit_queues import _trace

SIZES = NicConfig(qps=4, sets=4, forecast=True, tree=True)
LSTM = "queue-1rtt"


@pytest.fixture
def emulator() -> Emulator:
    return Emulator(SIZES)


@pytest.fixture
def image(seed: int) -> TreeImage:
    tree = random_tree(np.random.default_rng(seed), depth=5, steps=3, version=77)
    return TreeImage(tree, Forecaster(pretrained(LSTM)).settings.card())


def test_forecasts_are_the_tree_s(emulator: Emulator, image: TreeImage, seed: int) -> None:
    rng = np.random.default_rng(seed)
    device = Device(emulator)
    assert device.model.load(image, slot=2, queue=True).version == 77
    assert device.forecast is not None
    device.forecast.configure(1, model_slot=2, source="queue")
    device.qp(1).configure(preset="thesis", enable=True, algorithm="pid", psched=True)
    x = rng.integers(-32768, 32768, (60, 4))
    profiles = np.c_[np.ones(60, dtype=np.int64), np.arange(60), x]
    answers = emulator.forecast(profiles)
    windows = np.zeros((60, 8, 8), dtype=np.int64)
    for n in range(60):
        past = x[max(0, n - 7) : n + 1]
        windows[n, 8 - len(past) :, :4] = past
    p = tree_predict(image.model.tree, windows)
    assert (answers[:, 2:18] == p).all()
    assert (answers[:, 18] == Forecaster(image).scores(p)).all()
    assert (answers[:, 19] == 77).all()
    device.registers.write_fields("QP", "SELECT", index=1)
    device.registers.write_fields("QP", "COMMAND", clear=1)  # what it looked back at is forgotten
    again = emulator.forecast(profiles[:1])
    windows[0, :-1] = 0
    assert (again[0, 2:18] == tree_predict(image.model.tree, windows[:1])[0]).all()


def test_broken_trees_are_refused(emulator: Emulator, seed: int) -> None:
    device = Device(emulator)
    for payload, status in broken_images(np.random.default_rng(seed)).values():
        with pytest.raises(DeviceError, match=f"was refused: {status.replace('_', ' ')}"):
            device.model.write_set(3, payload)
        assert not device.model.sets()[3].valid


def test_trees_and_lstms_are_not_mistaken(emulator: Emulator, image: TreeImage) -> None:
    trees, lstms = Device(emulator), Device(Emulator(NicConfig(qps=4, sets=4, forecast=True)))
    with pytest.raises(DeviceError, match=r"an LSTM here, not a tree: .* \(tree=0\)"):
        lstms.model.load(image, queue=True)
    with pytest.raises(DeviceError, match=r"a tree here, not an LSTM: .* precog model distill"):
        trees.model.load(pretrained(LSTM), queue=True)
    with pytest.raises(DeviceError, match="rtt here, not queue: load it with --queue"):
        trees.model.load(image)
    for device, payload in ((lstms, image.payload), (trees, pretrained(LSTM).payload)):
        with pytest.raises(DeviceError, match="was refused: bad header"):
            device.model.write_set(1, payload)
    assert trees.model.load(pretrained()).valid  # RTTs are an LSTM's in any case
    with pytest.raises(ValueError, match="tree needs forecast, which is off"):
        NicConfig(tree=True)


def test_flips_in_trees_are_found(emulator: Emulator, image: TreeImage) -> None:
    device = Device(emulator)
    number = device.model.load(image, slot=2, queue=True).set
    assert device.ecc is not None
    found = device.ecc.inject(number, 30, 3, (35,), tree=True)
    assert (found.tree, found.row, found.word, found.bit) == (True, 30, 3, 35)
    device.ecc.scrub()
    assert device.ecc.state().counters["scrubbed"] == 277 + 31 * 8
    with pytest.raises(ValueError, match="the trees' memory stores, not 0 of row 31"):
        device.ecc.inject(number, 31, 0, (1,), tree=True)
    with pytest.raises(ValueError, match="trees have no second copy"):
        device.ecc.inject(number, 25, 0, (1,), second=True, tree=True)
    assert device.ecc.inject(number, 0, 0, (1, 2), tree=True).double
    assert not device.model.sets()[number].valid
    device.qp(0).configure(preset="thesis", enable=True, algorithm="pid")
    assert device.forecast is not None
    device.forecast.configure(0, model_slot=2)
    assert emulator.forecast([[0, 1, 0, 0, 0, 0]])[0, 18] == NO_SCORE
    other = Device(Emulator(NicConfig(qps=4, sets=4, forecast=True)))
    assert other.ecc is not None
    with pytest.raises(ValueError, match="built without trees"):
        other.ecc.inject(0, 0, 0, (1,), tree=True)


def test_distilled_from_traces(tmp_path: Path, seed: int, run: Run) -> None:
    """The commands, from traces to a tree that is live."""

    traces, path = str(tmp_path / "q.npz"), str(tmp_path / "tree.safetensors")
    save_queue_traces(traces, [_trace(seed), _trace(seed + 1)])
    status, out, _ = run("model", "distill", traces, "-o", path, "--depth", "4", "-j")
    assert status == 0
    told = json.loads(out)
    made = load_any(path)
    assert isinstance(made, TreeImage)
    assert made.model.tree.depth == 4
    assert told["payload_crc32"] == f"{made.crc32:#010x}"
    assert told["crps"] > 0
    assert made.card["distilled_from"] == f"{pretrained(LSTM).crc32:#010x}"
    assert run("model", "show", path)[1].startswith("tree of depth 4, 4-16, 2 steps, head queue")
    status, out, _ = run("model", "load", path, "--queue", "-d", "emu:forecast=1,tree=1")
    assert (status, "is live" in out) == (0, True)
    status, _, err = run("model", "load", path, "--queue", "-d", "emu:forecast=1")
    assert (status, "not a tree" in err) == (2, True)
    inject = ("ecc", "inject", "1", "0", "0", "3", "--tree", "--model", path)
    assert run(*inject, "-d", "emu:forecast=1,tree=1")[0] == 0
    status, _, err = run("model", "distill", traces, "-o", path, "--base", "rtt-incast")
    assert (status, "needs a queue head" in err) == (2, True)
    assert pack_tree(made.model) == load_any(path).payload
