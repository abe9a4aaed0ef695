"""docs/guide/security.md states the figures that tests assert, all of them, and no others."""

import re
from pathlib import Path
from types import ModuleType

from tests.integration import attack_bounds

from precog_host import sealing, turns

_PAGE = Path(__file__).parents[1] / "docs/guide/security.md"
_ROW = re.compile(r"^\|[^|]*\|[^|]*\| `(\w+)` \| ([^|]+) \|$", re.M)


def constants(module: ModuleType) -> dict[str, str]:
    """Public constants as they are written."""
    return {name: repr(value) for name, value in vars(module).items() if name.isupper()}


def test_every_figure_is_the_constant_of_a_test() -> None:
    stated = {name: value.strip() for name, value in _ROW.findall(_PAGE.read_text())}
    known = constants(attack_bounds)
    for module, names in ((turns, ("HOLD_S", "TURN_S")), (sealing, ("MOST_APART_S",))):
        known |= {name: repr(getattr(module, name)) for name in names}
    assert len(known) > 15
    assert stated == known


def test_every_figure_of_an_attack_is_asserted_somewhere() -> None:
    tests = [
        path.read_text()
        for path in Path(__file__).parent.rglob("test_*.py")
        if path != Path(__file__)
    ]
    for name in constants(attack_bounds):
        assert any(re.search(rf"\b{name}\b", text) for text in tests), name
