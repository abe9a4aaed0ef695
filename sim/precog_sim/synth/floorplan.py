"""Where the multipliers and block RAMs go.

They lie in a few rows across the whole device, and most of the multipliers are taken: left to
itself, nextpnr mixes what belongs together, and wires decide the clock. Here each block has a place
in a picture of the data flow and gets the free site that is nearest to it; the logic follows.
Columns of units lie side by side::

    y = 10   lanes of the MAC array
    y = 22   partial sums, and the weights and biases of the rows above and below
    y = 34   element-wise pipe
    y = 46   cell states, and the weights and biases of the rows above and below
    y = 58   lanes of the MAC array; in the middle features and RTT head, then rate
    y = 70   the queue pairs' tables
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from precog_spec.config import NicConfig

__all__ = ["floorplan"]

_GROUPS = [4 + 9 * n + (2 if n > 6 else 0) for n in range(13)]  # first tiles of 4 sites
_MIDDLE = 63.0
_WIDTH = 30.0  # of a column of units
_PITCH = 2.4  # tiles between two multipliers
_ASIDE = 8.0  # makes room in the middle of the last row
#: Groups of units with 128 lanes, which take every multiplier: two neighbours share a weight block.
_CROWDED: tuple[tuple[float, float], ...] = (
    *((18, 10), (18, 34), (60, 10), (100, 10)),
    *((108, 34), (108, 58), (18, 58), (45, 58)),
)
#: The element-wise pipe's multipliers of a column, from the left: gates meet where they are used.
_PIPE = (
    *("x_1", "gate_f", "x_0", "gate_i", "fc", "ig"),
    *("gate_g", "x_2", "tanh", "oh", "gate_o", "x_3", "head"),
)


@dataclass(frozen=True)
class _Site:
    bel: str
    x: int
    y: int

    def cost(self, at: tuple[float, float]) -> float:
        """The square of the distance; rows count twice."""
        return (self.x - at[0]) ** 2 + 4 * (self.y - at[1]) ** 2


_SITES = {
    "MULT18X18D": [
        _Site(f"X{first + n}/Y{y}/MULT18_{n}", first + n, y)
        for y in (10, 34, 58)
        for first in _GROUPS
        for n in (0, 1, 4, 5)
    ],
    "DP16KD": [
        _Site(f"X{first + 2 * n}/Y{y}/EBR{n}", first + 2 * n, y)
        for y in (22, 46, 70, 82)
        for first in _GROUPS
        for n in range(4)
    ],
}


def floorplan(types: Mapping[str, str], config: NicConfig) -> dict[str, str]:
    """Sites on LFE5UM5G-85F for the blocks of a core's netlist.

    Parameters
    ----------
    types : mapping
        Name to type of the netlist's cells, which may be of any type.
    config : NicConfig
        What the netlist is of.

    Returns
    -------
    dict
        Name of a cell to nextpnr's name of its site. Cells that are in no picture are not in it.
    """
    plan: dict[str, str] = {}
    for kind, sites in _SITES.items():
        wanted = {}
        for name, its in types.items():
            at = _place(name, config) if its == kind else None
            if at is not None:
                wanted[name] = at
        plan |= {name: site.bel for name, site in _assign(wanted, sites).items()}
    return plan


def _assign(wanted: dict[str, tuple[float, float]], sites: list[_Site]) -> dict[str, _Site]:
    """Sites for places: the nearest pairs first, then exchanges as long as one gains."""
    pairs = sorted(
        (site.cost(at), name, n) for name, at in wanted.items() for n, site in enumerate(sites)
    )
    held: dict[str, int] = {}
    owner: dict[int, str] = {}
    for _, name, n in pairs:
        if name not in held and n not in owner:
            held[name], owner[n] = n, name

    def gain(name: str, n: int) -> float:
        old, other = held[name], owner.get(n)
        change = sites[old].cost(wanted[name]) - sites[n].cost(wanted[name])
        if other is not None:
            change += sites[n].cost(wanted[other]) - sites[old].cost(wanted[other])
        return change

    moved = True
    while moved:
        moved = False
        for name in wanted:
            for n in range(len(sites)):
                if n != held[name] and gain(name, n) > 1e-6:
                    old, other = held[name], owner.pop(n, None)
                    del owner[old]
                    held[name], owner[n] = n, name
                    if other is not None:
                        held[other], owner[old] = old, other
                    moved = True
    return {name: sites[n] for name, n in held.items()}


def _place(name: str, config: NicConfig) -> tuple[float, float] | None:
    """Where a block would lie if it were alone."""
    for pattern, rule in _RULES:
        found = re.search(pattern, name)
        if found:
            return rule(config, *found.groups())
    return None


def _column(config: NicConfig, column: float) -> float:
    """The middle of a column of units."""
    return _MIDDLE + (column - (config.columns - 1) / 2) * _WIDTH


def _pipe(config: NicConfig, what: str, column: str) -> tuple[float, float]:
    """A multiplier of the element-wise pipe."""
    return _column(config, int(column)) + _PITCH * (_PIPE.index(what) - len(_PIPE) // 2), 34


def _lane(config: NicConfig, gate: str, unit: str) -> tuple[float, float]:
    """A multiplier of the MAC array: by its group's row, over or under its gate's in the pipe."""
    group, column = divmod(int(unit), config.columns)
    if config.lanes == 128:
        x, y = _CROWDED[group]
        return x + _PITCH * (int(gate) - 1.5), y
    x, _ = _pipe(config, f"x_{gate}", str(column))
    return (x, 10) if group < 2 else (x + (_ASIDE if x > _MIDDLE else -_ASIDE), 58)


def _weights(config: NicConfig, gate: str, quad: str) -> tuple[float, float]:
    """A block of recurrent weights: between the lanes of its units, of all columns."""
    unit = 4 * int(quad)
    if config.lanes == 128:
        x, y = _CROWDED[unit // config.columns]
        return x, 22 if y < 34 else 46
    _, y = _lane(config, gate, str(unit))
    return _MIDDLE + 8 * (int(gate) - 1.5), 22 if y < 34 else 46


def _half(config: NicConfig, half: str) -> float:
    """The middle of the columns that one of a quad's two bias words is for."""
    return _column(config, 2 * int(half) + 0.5) if config.columns == 4 else _MIDDLE


_Rule = Callable[..., tuple[float, float]]
#: What a cell's name contains, and where such a cell lies, given the pattern's groups.
_RULES: list[tuple[str, _Rule]] = [
    (r"cell\.mult_(x_\d)_(\d)", _pipe),
    (r"cell\.mult_(fc|ig|oh)_(\d)", _pipe),
    (r"cell\.(gate_\w)_(\d)", _pipe),
    (r"cell\.(tanh)_(\d)", _pipe),
    (r"engine\.(head)\.mult_(\d)", _pipe),
    (r"mac_\d_(\d)_(\d+)\.mult", _lane),
    (r"wh_\d_(\d)_(\d)", _weights),
    (r"state_p_(\d)", lambda config, column: (_column(config, int(column)), 22)),
    (r"state_c_(\d)", lambda config, column: (_column(config, int(column)), 46)),
    (r"cell\.bias_\d_(\d)", lambda config, half: (_half(config, half), 22)),
    (r"drain\.bias_\d_(\d)", lambda config, half: (_half(config, half), 46)),
    (r"engine\.cell", lambda config: (_MIDDLE, 22)),
    (r"engine", lambda config: (_MIDDLE, 46)),
    (r"feature.*mult$", lambda config: (_MIDDLE - 5, 58)),
    (r"feature", lambda config: (_MIDDLE - 5, 70)),
    (r"block\.head", lambda config: (_MIDDLE + 3, 58)),
    (r"rate.*mult$", lambda config: (_MIDDLE + 35, 58)),
    (r"rate", lambda config: (_MIDDLE + 35, 70)),
]
