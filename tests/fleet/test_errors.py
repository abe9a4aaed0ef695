"""Missing extras are named by the command that installs them."""

import pytest

from precog_fleet.errors import FleetError, MissingExtraError, needs


def test_a_missing_library_names_its_extra() -> None:
    message = r"no_such_wheel must be installed: pip install 'precog\[ray\]'"
    with pytest.raises(MissingExtraError, match=message), needs("ray"):
        import no_such_wheel  # noqa: F401


def test_a_part_of_a_library_names_the_library() -> None:
    message = r"tuf must be installed: pip install 'precog\[fleet\]'"
    with pytest.raises(MissingExtraError, match=message), needs():
        raise ModuleNotFoundError("No module named 'tuf.api'", name="tuf.api")


def test_other_errors_pass() -> None:
    with pytest.raises(KeyError), needs():
        raise KeyError("x")
    assert issubclass(MissingExtraError, FleetError)
