"""The floorplan gives every block a site of its own, near to what it works with."""

import re

import pytest

from precog_hw.predict.layouts import GATES, Sizes
from precog_sim.synth.floorplan import floorplan
from precog_spec.config import PRESETS, NicConfig

ENGINE = "block.predictor.engine"


def blocks(config: NicConfig) -> dict[str, str]:
    """Cells as synthesis names them, of each kind that a core has."""
    sizes = Sizes(config)
    multipliers = [f"{ENGINE}.cell.mult_{what}" for what in ("fc_0", "ig_0", "oh_0")]
    memories = ["block.rate.configs.0.3", "block.feature.base.states.0.1"]
    for gate in range(GATES):
        for column in range(config.columns):
            multipliers.append(f"{ENGINE}.cell.mult_x_{gate}_{column}.mult")
        for way in range(sizes.ways):
            for unit in range(sizes.units):
                multipliers.append(f"{ENGINE}.mac.lanes.mac_{way}_{gate}_{unit}.mult")
            for quad in range(sizes.units // 4):
                memories.append(f"{ENGINE}.mac.lanes.wh_{way}_{gate}_{quad}.0.0")
    for column in range(config.columns):
        memories += [f"{ENGINE}.cell.state_p_{column}.0.{n}" for n in range(8)]
    return (
        dict.fromkeys(multipliers, "MULT18X18D")
        | dict.fromkeys(memories, "DP16KD")
        | {"block.feature.n_TRELLIS_FF_Q": "TRELLIS_FF"}
    )


def tile(bel: str) -> tuple[int, int]:
    x, y = re.fullmatch(r"X(\d+)/Y(\d+)/.*", bel).groups()  # type: ignore[union-attr]
    return int(x), int(y)


@pytest.mark.parametrize("lanes", [16, 64, 128])
def test_every_block_has_a_site_of_its_own(lanes: int) -> None:
    types = blocks(PRESETS[f"lanes{lanes}"])
    plan = floorplan(types, PRESETS[f"lanes{lanes}"])
    assert set(plan) == {name for name, kind in types.items() if kind != "TRELLIS_FF"}
    assert len(set(plan.values())) == len(plan)
    for name, bel in plan.items():
        assert ("MULT18" if types[name] == "MULT18X18D" else "EBR") in bel


def test_columns_lie_side_by_side() -> None:
    config = PRESETS["lanes64"]
    plan = floorplan(blocks(config), config)
    for gate in range(GATES):
        places = [
            tile(plan[f"{ENGINE}.cell.mult_x_{gate}_{column}.mult"])
            for column in range(config.columns)
        ]
        assert {y for _, y in places} == {34}
        assert [x for x, _ in places] == sorted(x for x, _ in places)
