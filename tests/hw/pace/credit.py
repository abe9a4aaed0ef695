"""Bytes granted are never more than what the rate has earned, and one packet."""

from dataclasses import dataclass

from precog_spec.contract import TICK_FRAC_BITS

__all__ = ["Credit"]

_AT_POWER_UP = 1 << 32  # 256 bytes per tick


@dataclass
class Credit:
    """A queue pair's account since it last became able to send, in exact units.

    Times have 16 fraction bits of a tick and do not wrap; an earned unit is 2**-40 bytes.
    """

    rate: int = _AT_POWER_UP
    earned: int = 0
    spent: int = 0
    since: int = 0
    new_rate: tuple[int, int] | None = None  # from when on, if its gap is made in time
    saturated: bool = (
        False  # a gap was cut to 2**32 ticks: it stands for fewer bytes than it should
    )
    checks: int = 0

    def wake(self, now: int) -> None:
        """There is something to send again: nothing is owed, nothing is left over."""
        self.earned = self.spent = 0
        self.saturated = False
        self.since = now

    def _earn(self, until: int) -> None:
        assert until >= self.since
        self.earned += self.rate * (until - self.since)
        self.since = until

    def change(self, rate: int, now: int, pending: bool) -> None:
        """A rate took effect; with a gap that is pending, when that is known."""
        if pending:
            self.new_rate = now, max(rate, 1)
            return
        self._earn(now)
        self.rate = max(rate, 1)

    def settle(self, old_due: int | None) -> None:
        """The pending gap is made anew, or ended at `old_due` before: the old rate to there."""
        if self.new_rate is not None:
            now, rate = self.new_rate
            self._earn(now if old_due is None else old_due)
            self.rate, self.new_rate = rate, None

    def grant(self, size: int, now: int) -> None:
        """All packets before this one have been paid for."""
        self._earn(now)
        if not self.saturated:
            assert self.spent << 24 + TICK_FRAC_BITS <= self.earned, (self, now)
            self.checks += 1
        self.spent += size
