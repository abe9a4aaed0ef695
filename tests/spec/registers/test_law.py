"""The block LAW has the numbers and codes of the law engine."""

import pytest

from precog_hw.rate.engine.stage import ENGINE_COUNTS
from precog_models.rate.engine.machine import Status
from precog_models.rate.engine.unit import COUNTS
from precog_spec.config import NicConfig
from precog_spec.contract import Fmt
from precog_spec.engine.image_fields import (
    BANKS,
    BUDGET_BITS,
    IMAGE_WORDS,
    ISA_VERSION,
    NAME_WORDS,
    LoadStatus,
)
from precog_spec.engine.isa import CODE_WORDS, SLOT_WORDS, SLOTS
from precog_spec.registers.law import LAW_EVENTS, LAW_LOAD_STATUS, LAW_SLOTS, TRAPS, law_block


def test_codes_and_counters() -> None:
    assert {name: number for name, number in LAW_LOAD_STATUS} == {
        status.name.lower(): int(status) for status in LoadStatus
    }
    names = {"DONE": "none"}
    assert (
        tuple((names.get(s.name, s.name.lower()), int(s)) for s in Status if s != Status.DAMAGED)
        == TRAPS
    )
    assert tuple(name for name, _ in LAW_EVENTS) == (*COUNTS, "merged")
    assert COUNTS == ENGINE_COUNTS


def test_sizes() -> None:
    block = law_block(1, 1000)
    wanted = {"isa": ISA_VERSION, "slots": SLOTS, "image": IMAGE_WORDS, "cores": 1}
    wanted |= {"code": CODE_WORDS, "memory": SLOT_WORDS}
    seen = {
        field.name: field.reset
        for register in ("CAPABILITIES", "SIZES")
        for field in block.register(register).fields
    }
    assert seen == wanted
    assert LAW_SLOTS == SLOTS == BANKS == block.table("BANKS").count
    assert block.register("BUDGET").field("budget").bits == BUDGET_BITS
    assert block.register("THRESHOLD").field("threshold").bits == Fmt.RTT.width
    assert sum("NAME" in one.name for one in block.table("BANKS").registers) == NAME_WORDS


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"law_cores": 2}, "law_cores must be one of 0, 1, 4, 8, not 2"),
        ({"law_cores": 8, "qps": 4}, "law_cores must be at most the 4 qps, not 8"),
        ({"law_cores": 1, "laws": False}, "law_cores needs laws, which is off"),
    ],
)
def test_devices_that_cannot_be_built(sizes: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        NicConfig(**sizes)
