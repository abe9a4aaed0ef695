"""Images and files of trees: one spelling, and every kind of damage has its error."""

from pathlib import Path

import numpy as np
import pytest

from precog_models.image import Image, ModelImageError, pretrained
from precog_models.predict.tree import Tree
from precog_models.predict.tree_model import (
    TreeFault,
    TreeModel,
    pack_tree,
    read_image,
    tree_fault,
    unpack_tree,
)
from precog_models.tree_image import TreeImage, find_any, load_any
from precog_spec.contract import HEADER_OFFSET, PROBABILITY

from .trees import broken_images, random_tree


def test_images_are_read_back(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for depth in range(1, 7):
        for steps in (1, 3, 8):
            model = random_tree(rng, depth=depth, steps=steps, version=int(rng.integers(1 << 32)))
            image = pack_tree(model)
            again = read_image(image)
            assert isinstance(again, TreeModel)
            assert (again.steps, again.outputs, again.version) == (steps, 16, model.version)
            for name in ("source", "threshold", "leaves"):
                assert (getattr(again.tree, name) == getattr(model.tree, name)).all()
            assert tree_fault(image) is None


def test_a_leaf_by_hand() -> None:
    """Bin 9 has the most: bin 9 ^ n is number n of those that are stored."""
    leaves = np.zeros((2, 16), dtype=np.int64)
    leaves[0, 9], leaves[0, 9 ^ 1], leaves[0, 9 ^ 2], leaves[0, 9 ^ 14] = 17_000, 1, 0x2AAA, 3
    leaves[0, 9 ^ 15] = PROBABILITY.one - leaves[0].sum()
    leaves[1, 0] = PROBABILITY.one
    one = np.array([11]), np.array([-2])
    image = pack_tree(TreeModel(Tree(*one, leaves), version=5))
    words = np.frombuffer(image, "<u4")
    assert words[0] == 1 | 0x2AAA << 14 | 9 << 28
    last = PROBABILITY.one - 17_000 - 1 - 0x2AAA - 3
    assert [int(word) >> 28 for word in words[1:7]] == [last >> n & 15 for n in (0, 4, 8, 12)] + [
        0, 0,
    ]  # fmt: skip
    assert words[6] & 0xFFF_FFFF == 3 << 14
    assert not words[7:448].any()
    assert image[28 * 64 : 28 * 64 + 4] == b"\xfe\xff\x00\x00"
    assert image[30 * 64 : 30 * 64 + 2] == b"\x0b\x00"
    assert image[HEADER_OFFSET : HEADER_OFFSET + 8] == b"\x04\x02\x10\x01\x05\x00\x00\x00"
    assert image[HEADER_OFFSET + 12 :] == b"\x01\x01" + bytes(10)


def test_broken_images_are_refused(seed: int) -> None:
    for image, status in broken_images(np.random.default_rng(seed)).values():
        with pytest.raises(ValueError, match=r"must") as caught:
            read_image(image)
        assert (caught.type is TreeFault) is (status == "bad_tree")
    good = pack_tree(random_tree(np.random.default_rng(seed), depth=2, steps=2))
    for place in (8 * 28, 28 * 64 + 6, 31 * 64, HEADER_OFFSET + 14):  # all unused at depth 2
        with pytest.raises(ValueError, match="must have one spelling"):
            unpack_tree(good[:place] + b"\x01" + good[place + 1 :])
    with pytest.raises(ValueError, match="must have 2048 bytes, not 2047"):
        unpack_tree(good[:-1])


def test_what_no_image_can_say_is_refused() -> None:
    one = np.array([0]), np.array([0])
    leaves = np.zeros((2, 16), dtype=np.int64)
    leaves[:, 3] = PROBABILITY.one
    halves = leaves.copy()
    halves[1, [3, 4]] = PROBABILITY.one // 2
    with pytest.raises(ValueError, match="leaf 1 must not have two bins of a half"):
        TreeModel(Tree(*one, halves))
    with pytest.raises(ValueError, match=r"inputs 0\.\.3, not at 4"):
        TreeModel(Tree(np.array([4]), one[1], leaves))
    with pytest.raises(ValueError, match="leaves must be zero from bin 3 on"):
        TreeModel(Tree(*one, leaves), outputs=3)
    with pytest.raises(ValueError, match="version must be a 32-bit unsigned number, not -1"):
        TreeModel(Tree(*one, leaves), version=-1)


def test_files_are_read_back(tmp_path: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    image = TreeImage(random_tree(rng, depth=4, steps=2, version=7), {"source": "test"})
    path = tmp_path / "tree.safetensors"
    image.save(path)
    again = load_any(path)
    assert isinstance(again, TreeImage)
    assert again.to_bytes() == path.read_bytes() == image.to_bytes()
    assert again.payload == image.payload
    told = again.metadata()["architecture"]
    assert told == {
        "cell": "tree", "depth": 4, "head": "queue", "inputs": 4, "outputs": 16, "steps": 2,
    }  # fmt: skip
    with pytest.raises(ModelImageError, match=r"the engine runs an lstm .* not 'tree'"):
        Image.load(path)
    lstm = tmp_path / "lstm.safetensors"
    pretrained("queue-1rtt").save(lstm)
    assert isinstance(find_any(str(lstm)), Image)
    assert isinstance(find_any("queue-1rtt"), Image)
    with pytest.raises(ModelImageError, match="cell must be 'tree' here, not 'lstm'"):
        TreeImage.load(lstm)
    with pytest.raises(FileNotFoundError, match="shipped models"):
        find_any(str(tmp_path / "none"))


def test_no_flipped_bit_passes_unnoticed(seed: int) -> None:
    rng = np.random.default_rng(seed)
    good = TreeImage(random_tree(rng, depth=3, steps=2), {"note": "x"})
    data = bytearray(good.to_bytes())
    for place in rng.choice(len(data) * 8, 400, replace=False).tolist():
        data[place // 8] ^= 1 << place % 8
        try:
            seen = TreeImage.from_bytes(bytes(data))
        except ModelImageError:
            pass
        else:  # the card's text and the header's spaces have no check: the integers are the same
            assert seen.payload == good.payload
        data[place // 8] ^= 1 << place % 8
