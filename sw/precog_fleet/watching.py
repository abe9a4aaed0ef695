"""What an agent needs from outside: all devices at its start; later each loss is told once."""

from collections.abc import Callable, Iterable, Sequence

from precog_host.transport import DeviceError

from .card import Card

__all__ = ["Watch", "start_all"]


def start_all(cards: Sequence[Card], qps: Iterable[int]) -> None:
    """Open every device. A wrong name or a wrong build fails now, not in a log that is not read.

    Parameters
    ----------
    qps : iterable of int
        Queue pairs that every device must have.

    Raises
    ------
    DeviceError
        A device does not answer, cannot be read by an agent, or lacks a queue pair.
    """
    wanted = sorted(set(qps))
    for card in cards:
        try:
            card.start()
        except (DeviceError, OSError, ValueError) as error:
            raise DeviceError(_told(f"device {card.name}", str(error))) from error
        assert card.device is not None
        count = card.device.sizes.qps
        for qp in wanted:
            if qp >= count:
                raise DeviceError(f"qp must be in 0..{count - 1} on device {card.name}, not {qp}")


def _told(name: str, error: str) -> str:
    """An error after the name of what failed, once: transports name themselves, without options."""
    kind, _, place = name.rpartition(" ")
    if error.startswith(f"{place.partition('?')[0]}:"):
        return f"{kind} {error}"
    return f"{name}: {error}"


class Watch:
    """Tells when something fails and when it works again, not how often it was tried.

    Parameters
    ----------
    report : callable
        Told in words.
    """

    def __init__(self, report: Callable[[str], None]) -> None:
        self._report = report
        self._failing: set[str] = set()

    def see(self, name: str, error: str, then: str = "; trying again") -> None:
        """How something is now, and what follows; without an error it works."""
        if error and name not in self._failing:
            self._failing.add(name)
            self._report(_told(name, error) + then)
        elif not error and name in self._failing:
            self._failing.remove(name)
            self._report(f"{name}: back again")
