"""Errors of the fleet, and how a missing extra is named."""

from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["FleetError", "MissingExtraError", "needs"]


class FleetError(RuntimeError):
    """Work of the fleet failed; bad arguments are ValueErrors."""


class MissingExtraError(FleetError):
    """A library of an extra is not installed."""


@contextmanager
def needs(extra: str = "fleet") -> Iterator[None]:
    """Name the extra that provides a library whose import fails inside of the block.

    Raises
    ------
    MissingExtraError
        A module is not installed.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        library = (error.name or "").partition(".")[0]
        raise MissingExtraError(
            f"{library} must be installed: pip install 'precog[{extra}]'"
        ) from error
