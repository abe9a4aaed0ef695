"""Float reference laws, one a file: what the network simulator runs and what papers state.

Every law is a handful of numba functions over a state table ``state[flow, column]`` (float64) and
a parameter vector (float64), both laid out by the module's `State` and `Param` enumerations.
Rates are in bit/s, times and round-trip times in microseconds. A module's frozen `*Params`
dataclass packs itself into the vector; `PRESETS` names the sets of constants in the wild.
"""

from precog_models.rate.reference.common import PARAMS, STATES, preset_of

__all__ = ["PARAMS", "STATES", "preset_of"]
