"""A topology in a file: JSON with the hosts, the switches and the links between them.

``{"hosts": ["a", "b"], "switches": ["s"], "links": [["a", "s", 100, 1.0], ["b", "s", 100, 1.0]]}``:
a link has two ends, a rate in Gb/s and a delay in microseconds. Numbers of nodes follow the order
of the names, hosts first.
"""

from pathlib import Path
from typing import Any

from precog_models.limits import brief, read_json
from precog_sim.network.topology import Link, Topology

__all__ = ["read_topology"]

_MOST_BYTES = 64 << 20
_MOST_NODES, _MOST_LINKS = 1 << 14, 1 << 17
_KEYS = ("hosts", "switches", "links")


def read_topology(path: Path) -> Topology:
    """The topology in `path`.

    Raises
    ------
    ValueError
        It is not such a file; the message says which entry is wrong.
    OSError
        It cannot be read.
    """
    try:
        data = read_json(path, _MOST_BYTES)
    except ValueError as error:
        raise ValueError(f"file {path} must be JSON: {error}") from error
    if not isinstance(data, dict) or set(data) != set(_KEYS):
        raise ValueError(f"file {path} must have the keys {', '.join(_KEYS)} and no others")
    names = _names(path, data)
    links = data["links"]
    if not isinstance(links, list):
        raise ValueError(f"file {path}: links must be a list, not {brief(links)}")
    try:
        if len(links) > _MOST_LINKS or len(names) > _MOST_NODES:
            raise ValueError(f"there must be at most {_MOST_NODES} nodes and {_MOST_LINKS} links")
        made = tuple(_link(names, entry) for entry in links)
        linked = {node for link in made for node in (link.a, link.b)}
        for name, node in names.items():
            if node not in linked:
                raise ValueError(f"{brief(name)} must have a link, not none")
        return Topology(len(data["hosts"]), len(data["switches"]), made)
    except ValueError as error:
        raise ValueError(f"file {path}: {error}") from error


def _names(path: Path, data: dict[str, Any]) -> dict[str, int]:
    names: dict[str, int] = {}
    for kind in ("hosts", "switches"):
        if not isinstance(data[kind], list):
            raise ValueError(
                f"file {path}: {kind} must be a list of names, not {brief(data[kind])}"
            )
        for name in data[kind]:
            if not isinstance(name, str) or name in names:
                raise ValueError(f"file {path}: names must be texts, each once, not {brief(name)}")
            names[name] = len(names)
    return names


def _link(names: dict[str, int], entry: Any) -> Link:
    if not isinstance(entry, list) or len(entry) != 4:
        raise ValueError(f"link must be [end, end, Gb/s, µs], not {brief(entry)}")
    for end in entry[:2]:
        if not isinstance(end, str) or end not in names:
            raise ValueError(f"link must end at a host or a switch, not at {brief(end)}")
    gbps, delay_us = entry[2:]
    for value in (gbps, delay_us):
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ValueError(
                f"link {brief(entry[0])}–{brief(entry[1])} must have numbers, not {brief(value)}"
            )
    if entry[0] == entry[1]:
        raise ValueError(f"link must have two ends, not {entry[0]!r} twice")
    if not (0 < gbps < 1e6 and 0 <= delay_us < 1e9):
        raise ValueError(
            f"link {brief(entry[0])}–{brief(entry[1])} must have a rate above 0 Gb/s and a delay "
            f"from 0 µs on, not {brief(gbps)} and {brief(delay_us)}"
        )
    return Link(names[entry[0]], names[entry[1]], float(gbps), round(delay_us * 1e6))
