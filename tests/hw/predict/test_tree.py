# amaranth: UnusedElaboratable=no
"""Trees in RTL against their golden model, Verilated; what the loader says of broken ones."""

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.models.predict.trees import broken_images, random_tree

from precog_hw.predict.tree import ANSWER, TreePredictor, tree_request_layout
from precog_hw.predict.tree_check import TreeCheck
from precog_models.predict.cps import tails
from precog_models.predict.tree import tree_predict
from precog_models.predict.tree_model import pack_tree, tree_fault
from precog_sim.rtl.block import RtlBlock
from precog_sim.rtl.event_block import EventBlock, event_library, unpack
from precog_sim.rtl.stream_block import stream_library
from precog_spec.config import NicConfig
from precog_spec.contract import MAX_INPUTS, PROBABILITY, Fmt

pytestmark = [pytest.mark.cosim, pytest.mark.xdist_group("forecast_blocks")]

STEPS, QPS, SETS = 5, 8, 4
CONFIG = NicConfig(
    qps=QPS, sets=SETS, lanes=16, columns=1, steps=STEPS, forecast=True, tree=True, ecc=False
)
REQUEST = tree_request_layout(CONFIG)

Ints = NDArray[np.int64]


@cache
def library() -> Path:
    return event_library(TreePredictor(CONFIG), label="TreePredictor")


@cache
def check_library() -> Path:
    return stream_library(TreeCheck(CONFIG), label="TreeCheck")


def load_words(dut: RtlBlock, port: str, number: int, image: bytes) -> None:
    """Write an image's words, one a cycle; `image_word_layout` from its lowest bit on."""
    bits = CONFIG.set_bits
    for n, word in enumerate(np.frombuffer(image, dtype="<u4").tolist()):
        place = 1 | number << 1 | (n >> 4) << (1 + bits) | (n & 15) << (6 + bits)
        dut.poke(**{port: place | word << (10 + bits)})
        dut.tick()
    dut.poke(**{port: 0})
    dut.tick(2)


def values(rng: np.random.Generator, *shape: int) -> Ints:
    """Inputs in X's format; a quarter at or beside the ends."""
    x = rng.integers(Fmt.X.min, Fmt.X.max + 1, shape)
    ends = rng.choice([Fmt.X.min, Fmt.X.min + 1, -1, 0, 1, Fmt.X.max], shape)
    return np.where(rng.random(shape) < 0.25, ends, x)


def test_distributions(seed: int, volume: int) -> None:
    """52,000 distributions of queue pairs in turn; a million with ``--volume 20``."""
    rng = np.random.default_rng(seed)
    dut = EventBlock(library())
    batch = 5500  # of which one in 20 has no tree
    history = np.zeros((QPS, STEPS, MAX_INPUTS), dtype=np.int64)
    for _ in range(10 * volume):
        models = [
            random_tree(rng, depth=int(rng.integers(1, 7)), steps=int(rng.integers(1, STEPS + 1)))
            for _ in range(SETS)
        ]
        for number, model in enumerate(models):
            load_words(dut, "load", number, pack_tree(model))
        for qp in np.flatnonzero(rng.random(QPS) < 0.3):
            dut.pulse("clear_stb", clear_qp=int(qp))
            history[qp] = 0
        threshold = int(rng.integers(0, 16))
        dut.poke(threshold=threshold)
        qp, chosen = rng.integers(0, QPS, batch), rng.integers(0, SETS, batch)
        live = (rng.random(batch) < 0.95).astype(np.int64)
        depth = np.array([model.tree.depth for model in models])[chosen]
        x = values(rng, batch, 4)
        windows = np.zeros((batch, STEPS, MAX_INPUTS), dtype=np.int64)
        for n in range(batch):
            mine = history[qp[n]]
            mine[:-1] = mine[1:]
            mine[-1, :4] = x[n]
            windows[n] = mine
        idle, stall = rng.choice([0.0, 0.0, 0.5], 2)
        run = dut.events(
            REQUEST,
            np.c_[qp, chosen, live, depth, x],
            seed=int(rng.integers(1 << 32)),
            idle=float(idle),
            stall=float(stall),
        )
        got = unpack(ANSWER, run.ports["o_payload"])
        assert (got[:, 0] == live).all()
        for number, model in enumerate(models):
            rows = (chosen == number) & (live == 1)
            want = tree_predict(model.tree, windows[rows])
            assert (got[rows, 1:17] == want).all()
            assert (got[rows, 1:17].sum(axis=1) == PROBABILITY.one).all()
            assert (got[rows, 17] == tails(want, threshold)).all()
            assert (run.latency[rows] == TreePredictor.latency(model.tree.depth)).all()
        assert (run.latency[live == 0] == 2).all()
    dut.close()


def test_loader_finds_what_is_wrong(seed: int, volume: int) -> None:
    """Good images, broken ones, and ones of random bits: the verdict is the golden one."""
    rng = np.random.default_rng(seed)
    dut = RtlBlock(check_library())
    verdicts = []
    for n in range(40 * volume):
        steps = int(rng.integers(1, 9))
        images = [pack_tree(random_tree(rng, depth=int(rng.integers(1, 7)), steps=steps))]
        images += [image for image, _ in broken_images(rng).values()]
        image = images[0] if n % 3 == 0 else images[int(rng.integers(len(images)))]
        if n % 3 == 2:  # a word of random bits, anywhere but in the header
            at = 4 * int(rng.integers(0, 31 * 16))
            image = image[:at] + rng.bytes(4) + image[at + 4 :]
        dut.poke(steps=image[31 * 64 + 41])
        load_words(dut, "i", 0, image)
        dut.tick()
        verdicts.append(dut.peek("fault"))
        assert verdicts[-1] == (tree_fault(image) is not None)
    assert 0 in verdicts
    assert 1 in verdicts
    dut.close()
