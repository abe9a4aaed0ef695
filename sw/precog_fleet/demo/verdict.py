"""What the demo's figures are, and what must hold of them."""

from collections.abc import Mapping
from typing import Any

from ..modelset import ModelSet
from .figures import History

__all__ = ["failures", "skills"]


def skills(
    history: History, marks: Mapping[str, int], shipped: ModelSet, first: ModelSet
) -> dict[str, Any]:
    """Skill before and after each release, and the gain of each, paired.

    Parameters
    ----------
    history : History
    marks : mapping of str to int
        When steps began, ms.
    shipped, first : ModelSet
        What ran before the first release, and what that was.

    Raises
    ------
    FleetError
        A step has hardly any window.
    """
    before = history.between(0, marks["first job"])
    after = history.between(marks["first release"], marks["drift"])
    fallen = history.between(marks["drift"], marks["second job"])
    again = history.between(marks["second release"], marks["end of figures"])
    return {
        "windows": len(history.t),
        "skill": {
            "before": before.skill(),
            "after": after.skill(),
            "gain": after.gain(shipped),
            "course": history.course(),
        },
        "drift": {"fallen": fallen.skill(), "after": again.skill(), "gain": again.gain(first)},
    }


def failures(found: Mapping[str, Any]) -> list[str]:
    """What did not hold; nothing: all did."""
    wrong = []
    for where in ("skill", "drift"):
        low = found[where]["gain"]["low"]
        if not low > 0:
            wrong.append(f"gain of {where} must be above 0 at its lower end, not {low:.4f}")
    if found["lost_records"]:
        wrong.append(f"lost records must be 0, not {found['lost_records']}")
    for name, count in found["lost_of_cards"].items():
        if count:
            wrong.append(f"lost {name} of cards must be 0, not {count}")
    forged = found["forged"]
    if forged["accepted"]:
        wrong.append(f"accepted forgeries must be 0, not {forged['accepted']}")
    if forged["refused"] < forged["sent"]:
        wrong.append(f"refused forgeries must be {forged['sent']}, not {forged['refused']}")
    if not found["converge_s"]["reports"]:
        wrong.append("reports must have reached all members, but none was seen to")
    if found["bad_release_ran"]:
        wrong.append("bad release must run on no card, but ran")
    return wrong
