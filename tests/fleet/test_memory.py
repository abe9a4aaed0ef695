"""What an agent remembers of a card: damaged files count as none, and are written anew."""

from pathlib import Path

import pytest

from precog_fleet.lineup import Lineup, Plan, Rules
from precog_fleet.memory import Memory
from precog_fleet.modelset import BASE, ModelSet
from precog_models.image import pretrained

SHIPPED = ModelSet(pretrained("queue-4rtt"))
_DIGEST = b"\1" * 32


def lineup() -> Lineup:
    made = Lineup(Rules())
    made.begin(Plan(1, _DIGEST, {0: SHIPPED.base}))
    return made


@pytest.mark.parametrize(
    "damage",
    [
        b"[" * 100_000,
        b'{"refused": {}, "live": [Infinity, "", ""], "previous": null}',
        b"9" * 5000,
        b"\xff",
    ],
)
def test_damaged_state_ends_no_agent(tmp_path: Path, damage: bytes) -> None:
    """Neither that of the card itself nor that of another one."""
    for name in ("card0", "card1"):
        (tmp_path / f"{name}.json").write_bytes(damage)
    memory = Memory(tmp_path, "card0")
    assert memory.damaged
    assert memory.plan("live") is None
    memory.save(lineup(), {_DIGEST: SHIPPED})
    assert Memory(tmp_path, "card0").plan("live") is not None


def test_a_damaged_set_is_written_again(tmp_path: Path) -> None:
    memory = Memory(tmp_path, "card0")
    memory.save(lineup(), {_DIGEST: SHIPPED})
    base = tmp_path / _DIGEST.hex() / BASE
    base.write_bytes(base.read_bytes()[:100])
    again = Memory(tmp_path, "card0")
    with pytest.raises(ValueError, match="must have SHA-256"):
        again.plan("live")
    again.save(lineup(), {_DIGEST: SHIPPED})
    found = Memory(tmp_path, "card0").plan("live")
    assert found is not None
    told, models = found
    assert (told.release, told.digest) == (1, _DIGEST)
    assert isinstance(models, ModelSet)
    assert models.base.crc32 == SHIPPED.base.crc32
