"""How often an agent does what."""

from dataclasses import dataclass, field

__all__ = ["Due", "Timing"]


@dataclass(frozen=True)
class Timing:
    """How often an agent does what, ms, and how much at once."""

    batch: int = 512  #: records of a card in a turn
    ask: int = 500
    report: int = 1000
    skill: int = 2000
    drift: int = 10_000
    models: int = 1000
    ahead: int = 500
    borrow: int = 30_000
    bindings: int = 10_000
    save: int = 1000
    life: int = 30_000  #: of reports and health
    skill_life: int = 600_000


@dataclass
class Due:
    """When something was done last."""

    at: dict[str, int] = field(default_factory=dict)

    def __call__(self, what: str, now: int, every: int) -> bool:
        last = self.at.get(what)
        if last is not None and 0 <= now - last < every:  # a clock set back is no reason to wait
            return False
        self.at[what] = now
        return True
