"""What hosts send: random arrivals, incasts, collectives, flow files. ``--workload`` as text.

``websearch:0.3+incast:60x500k:0.02`` is web search at 30 % of the hosts' links and on top of it
incasts of 60 senders with 500 KB each that make up 2 %. A size distribution may be a file.
``ring:64x100M`` is one all-reduce of 100 MB by the first 64 hosts, ``ring:64x100M:spread`` by 64
drawn from all (`collectives`).
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import numpy as np

from precog_net.specs import amount, split_name

from .arrivals import Incasts, Place, Poisson
from .collectives import SHAPES, Collective
from .flow_file import read_flows
from .sizes import SHIPPED, Sizes, read_sizes, shipped_sizes
from .traffic import Traffic, merged

__all__ = ["Place", "Source", "Traffic", "draw", "merged", "read_flows", "workload"]


class Source(Protocol):
    """Makes flows."""

    def draw(self, place: Place, rng: np.random.Generator) -> Traffic:
        """The flows of one run."""


def workload(text: str) -> tuple[Source, ...]:
    """The sources that `text` names.

    Raises
    ------
    ValueError
        It names none, or says too little of one.
    """
    return tuple(_source(part) for part in text.split("+"))


def _source(text: str) -> Source:
    name, rest = split_name(text)
    shape, _, load = rest.partition(":")
    degree, by, size = shape.partition("x")
    if name in SHAPES:
        if not by or load not in ("", "spread"):
            raise ValueError(f"{name} must be {name}:<hosts>x<bytes>[:spread], not {text!r}")
        hosts, each = amount(degree, f"{name} hosts"), amount(size, f"{name} size")
        return Collective(name, hosts, each, load == "spread")
    if name == "incast":
        if not by:
            raise ValueError(f"incast must be incast:<senders>x<bytes>:<load>, not {text!r}")
        return Incasts(
            amount(degree, "incast degree"), amount(size, "incast size"), _load(load, text)
        )
    return Poisson(Path(name).stem, _sizes(name), _load(rest, text))


def _sizes(name: str) -> Sizes:
    if name in SHIPPED:
        return shipped_sizes(name)
    if Path(name).is_file():
        return read_sizes(Path(name))
    known = ", ".join([*SHIPPED, "incast", *SHAPES])
    raise ValueError(f"workload must be one of {known}, or a file of sizes, not {name!r}")


def _load(text: str, whole: str) -> float:
    try:
        load = float(text)
    except ValueError:
        load = 0.0
    if not 0 < load <= 1:
        raise ValueError(f"load must be above 0 and at most 1, not {text!r} in {whole!r}")
    return load


def draw(sources: Sequence[Source], place: Place, seed: int) -> Traffic:
    """The flows of all sources for a seed; each draws from a stream of its own.

    Raises
    ------
    ValueError
        There is no flow, or a source does not fit the place.
    """
    parts = [
        source.draw(place, np.random.default_rng((seed, n))) for n, source in enumerate(sources)
    ]
    traffic = merged(parts)
    if not len(traffic):
        raise ValueError("workload must make at least one flow: give a longer time or more load")
    return traffic
