"""Register maps of every kind of device: what a map depends on, all of it and none of it."""

import dataclasses

from precog_spec.config import PRESETS, NicConfig
from precog_spec.registers.identity import Identity
from precog_spec.registers.model import RegisterMap
from precog_spec.registers.precog import build_map

__all__ = ["CONFIGS", "MAPS"]

_TINY = PRESETS["tiny"]
_ALL = dataclasses.replace(_TINY, width=64, receiver=True, trace=True, forecast=True, grants=True)

CONFIGS: dict[str, NicConfig] = {
    "least": dataclasses.replace(_TINY, laws=False, ecc=False),
    "tiny": _TINY,
    "law": dataclasses.replace(_TINY, law_cores=1),
    "bare-packets": dataclasses.replace(
        _TINY,
        width=64,
        laws=False,
        ecc=False,
        ipv6=False,
        destinations=False,
        cnps=False,
        icrc=False,
    ),
    "ecp5-25": PRESETS["ecp5-25"],
    "ecp5-45": PRESETS["ecp5-45"],
    "corundum-100g": PRESETS["corundum-100g"],
    "grants": PRESETS["grants"],
    # A profiler and a packet memory exclude each other.
    "all": dataclasses.replace(_ALL, profile=True, senders=True, port=True, trials=True),
    "all-wire": dataclasses.replace(_ALL, wire=256, tree=True),
}
MAPS: dict[str, RegisterMap] = {
    name: build_map(config, Identity(0xABCD)) for name, config in CONFIGS.items()
}
