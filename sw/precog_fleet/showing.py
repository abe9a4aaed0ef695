"""Cards and their models, as members exchange and show them."""

import math
from typing import Any

from .bodies import Skill
from .judging import Tally
from .lineup import Plan
from .seating import Seating

__all__ = ["as_skill", "card_status"]

_MILLION = 1_000_000
_MOST_CRPS = 16 * _MILLION


def as_skill(tally: Tally) -> Skill:
    """A tally as members exchange it."""
    score, reference = (
        min(round(value * _MILLION), _MOST_CRPS) for value in (tally.score, tally.reference)
    )
    return Skill(tally.n, score, reference)


def card_status(of: Seating) -> dict[str, Any]:
    """JSON data of a card and its models."""

    def shown(plan: Plan | None) -> dict[str, Any] | None:
        if plan is None:
            return None
        tally = of.lineup.tally(plan)
        skill = None if tally is None or not math.isfinite(tally.skill) else tally.skill
        windows = 0 if tally is None else tally.n
        return {"release": plan.release, "skill": skill, "windows": windows}

    lineup = of.lineup
    return {
        "name": of.card.name,
        "up": of.card.device is not None,
        "error": of.card.error,
        "counts": dict(of.card.tallies() + of.counts),
        "refused": {digest.hex()[:12]: why for digest, why in lineup.refused.items()},
        **{name: shown(getattr(lineup, name)) for name in ("live", "shadow", "previous")},
    }
