"""A kernel's record for functions that need only some of its tables.

It must be a `Net`: a record's type is kept with the compiled code, and one of the tests' own would
make that code useless to everybody who has no tests.
"""

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from precog_models.jit import njit
from precog_sim.network.net import Net

__all__ = ["blank", "called"]

_F = TypeVar("_F", bound=Callable[..., Any])


def blank(**tables: NDArray[np.generic]) -> Net:
    """A record of `tables`; all others are empty."""
    return Net(**{name: tables.get(name, np.zeros(0, dtype=np.int64)) for name in Net._fields})


def called(function: _F) -> _F:
    """Compile `function`, which takes a record, for a test to call; not kept.

    As in the simulator there are no counts of references to tables, and C has no entry: to unpack
    every table once more takes the compiler as long as what the function does.
    """
    return njit(function, kept=False, _nrt=False, no_cfunc_wrapper=True)
