"""Register maps of every kind of device: what a map depends on, all of it and none of it."""

import dataclasses

from precog_hw.config import PRESETS, NicConfig
from precog_spec.registers.model import RegisterMap
from precog_spec.registers.precog import Identity, build_map

__all__ = ["CONFIGS", "MAPS"]

_TINY = PRESETS["tiny"]
_ALL = dataclasses.replace(_TINY, width=64, receiver=1, trace=1, forecast=1, grants=1)

CONFIGS: dict[str, NicConfig] = {
    "least": dataclasses.replace(_TINY, laws=0, ecc=0),
    "tiny": _TINY,
    "law": dataclasses.replace(_TINY, law_cores=1),
    "bare-packets": dataclasses.replace(
        _TINY, width=64, laws=0, ecc=0, ipv6=0, destinations=0, cnps=0, icrc=0
    ),
    "ecp5-25": PRESETS["ecp5-25"],
    "ecp5-45": PRESETS["ecp5-45"],
    "corundum-100g": PRESETS["corundum-100g"],
    "grants": PRESETS["grants"],
    # A profiler and a packet memory exclude each other.
    "all": dataclasses.replace(_ALL, profile=1),
    "all-wire": dataclasses.replace(_ALL, wire=256, tree=1),
}
MAPS: dict[str, RegisterMap] = {
    name: build_map(config.map_sizes, Identity(0xABCD)) for name, config in CONFIGS.items()
}
