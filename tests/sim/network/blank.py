"""A kernel's record for functions that need only some of its tables.

It must be a `Net`: a record's type is kept with the compiled code, and one of the tests' own would
make that code useless to everybody who has no tests.
"""

import numpy as np
from numpy.typing import NDArray

from precog_sim.network.net import Net

__all__ = ["blank"]


def blank(**tables: NDArray[np.generic]) -> Net:
    """A record of `tables`; all others are empty."""
    return Net(**{name: tables.get(name, np.zeros(0, dtype=np.int64)) for name in Net._fields})
