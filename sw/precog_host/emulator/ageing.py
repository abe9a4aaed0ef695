"""When the oldest of many values becomes too old: until then none of them needs a look.

Hardware visits all queue pairs all the time. A visit of a value that has not expired does nothing,
so that an emulated device looks only once the time has left the span in which none can expire.
"""

from collections.abc import Iterable

from precog_spec.contract import Fmt

__all__ = ["Ageing"]

_MASK = Fmt.TIME.max


class Ageing:
    """The span of time in which no value expires, on the 40-bit circle.

    A value of time s expires once its age is more than `age`, so from s + age + 1 on. Values that
    come after a look expire later than those that come with it.
    """

    def __init__(self) -> None:
        self._looked = self._span = 0

    def over(self, t: int) -> bool:
        """Whether a value may have expired at `t`, or anything else has changed."""
        return (t - self._looked) & _MASK >= self._span

    def looked(self, t: int, times: Iterable[int], age: int) -> None:
        """All values have been looked at, at `t`.

        Parameters
        ----------
        t : int
            Ticks.
        times : iterable of int
            Of the values that have not expired.
        age : int
            Ticks that a value holds; 0: for ever.
        """
        self._looked = t & _MASK
        if not age:
            self._span = _MASK + 1
            return
        ends = [(time + age + 1 - t) & _MASK for time in times]
        self._span = min([age + 1, *ends])

    def changed(self) -> None:
        """What holds may be another now: the next look is due at once."""
        self._span = 0
