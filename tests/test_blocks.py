"""The table of blocks: each of its names exists, no block of any layer is missing."""

from dataclasses import fields
from pathlib import Path

import pytest

from precog_host.application import command_line
from precog_host.device import Device
from precog_spec.config import NicConfig
from precog_spec.registers.blocks import BLOCKS, Block, page
from precog_spec.registers.precog import build_map

_ROOT = Path(__file__).parents[1]
_FOLDERS = {
    "gateware": _ROOT / "hw/precog_hw",
    "model": _ROOT / "models/precog_models",
    "emulator": _ROOT / "sw/precog_host/emulator",
}
_DEVICES = (
    "width=64,grants=1,wire=256,profile=1,forecast=1,trace=1,receiver=1,senders=1,port=1",
    "law_cores=1,trials=1",
)
#: Parts of the emulated device that are not blocks.
_HELPERS = {"__init__.py", "ageing.py", "carried.py", "device.py", "opening.py", "register_file.py"}
#: Names that differ from their block's, over all blocks. It may only become less.
_OTHER_NAMES = 16


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.name)
def test_every_name_exists(block: Block) -> None:
    assert block.option in {"", *(field.name for field in fields(NicConfig))}
    for layer, folder in _FOLDERS.items():
        path = getattr(block, layer)
        assert not path or (folder / path).is_file(), path
    command = command_line()
    for word in block.command.split():
        command = command.commands[word]  # type: ignore[attr-defined]
    if block.driver:
        with Device.open("emu:") as device:
            assert hasattr(device, block.driver)


def test_no_register_block_is_missing() -> None:
    found = set()
    for options in _DEVICES:
        with Device.open(f"emu:{options}") as device:
            regmap = build_map(device.sizes, device.identity)
            found |= {placed.block.name for placed in regmap.blocks}
    named = {name for block in BLOCKS for name in block.registers.split()}
    assert named - found == {"MAC"}  # a bridge's device alone has it
    assert found - named == set()


def test_no_emulated_block_is_missing() -> None:
    files = {path.name for path in _FOLDERS["emulator"].glob("*.py")} - _HELPERS
    assert files == {block.emulator for block in BLOCKS if block.emulator}


def test_names_come_closer_to_one_for_each_block() -> None:
    assert len({block.name for block in BLOCKS}) == len(BLOCKS)
    assert sum(len(block.other_names) for block in BLOCKS) <= _OTHER_NAMES


def test_the_page_has_every_block() -> None:
    rows = [line.split(" | ")[0].strip("| ") for line in page().splitlines() if "|" in line]
    assert rows[2:] == [block.name for block in BLOCKS]
