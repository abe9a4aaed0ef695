"""Rows, configurations and which event moves which law."""

import numpy as np
import pytest

from precog_models.law_presets import DCQCN_PRESETS, TIMELY_PRESETS
from precog_models.rate.law_unit import LAW_ROW, LawUnit
from precog_spec.law_fields import EVENT_FIELDS, EventKind, Law

_GBPS = 2097152  # 1 Gb/s at 1 ns is 1/8 byte per tick
_NAMES = [name for name, _ in EVENT_FIELDS]


def _event(kind: EventKind, qp: int = 0, **values: int) -> list[int]:
    named = {"kind": int(kind), "qp": qp, **values}
    return [int(named.get(name, 0)) for name in _NAMES]


def _configure(
    law: int, qp: int = 0, *, low: int = 1, high: int = 100, init: int = 10
) -> list[int]:
    rates = {"min_rate": low * _GBPS, "max_rate": high * _GBPS, "init_rate": init * _GBPS}
    return _event(EventKind.CONFIGURE, qp, law=law, **rates)


def _unit() -> LawUnit:
    unit = LawUnit(3)
    timely = TIMELY_PRESETS["precog"].parameters(1000)
    dcqcn = DCQCN_PRESETS["paper"].parameters(1000)
    unit.set_parameters(*(np.array(list(p.values()), dtype=np.int64) for p in (timely, dcqcn)))
    return unit


def _rates(unit: LawUnit, *events: list[int]) -> tuple[list[float], list[int]]:
    """Rates in Gb/s, and which results are changes."""
    results, _ = unit.run(np.array(events, dtype=np.int64))
    return (results[:, 1] / _GBPS).tolist(), results[:, 2].tolist()


@pytest.mark.parametrize("law", range(8))
def test_initial_rate_and_bounds(law: int) -> None:
    unit = _unit()
    rates, changed = _rates(
        unit,
        _configure(law, init=10),
        _event(EventKind.SWEEP),
        _configure(law, init=10, low=20),
        _configure(law, init=10, high=5),
        _configure(law, init=10, low=20, high=5),
    )
    assert rates == [10, 10, 20, 5, 5]
    assert changed == [1, 0, 1, 1, 0]


def test_only_the_algorithms_with_a_law_keep_their_rate() -> None:
    for law in range(8):
        rates, _ = _rates(_unit(), _configure(law, init=10), _configure(law, init=30))
        assert rates == [10, 10 if law in (Law.TIMELY, Law.DCQCN) else 30]


def test_another_law_goes_on_from_the_rate_and_reset_does_not() -> None:
    unit = _unit()
    rates, changed = _rates(
        unit,
        _configure(Law.DCQCN, init=40),
        _event(EventKind.CNP, t=5),
        _configure(Law.TIMELY, init=40),
        _event(EventKind.RESET),
        _event(EventKind.RESET),
        _event(EventKind.SWEEP),
        _event(EventKind.SWEEP),
    )
    assert rates == [40, 20, 20, 40, 40, 40, 40]
    assert changed == [1, 1, 0, 1, 1, 1, 0]
    row = dict(zip(LAW_ROW, unit.rows[0].tolist(), strict=True))
    assert {name: value for name, value in row.items() if value} == {"live": 1, "rate": 40 * _GBPS}


def test_a_new_configuration_of_the_same_law_keeps_its_state() -> None:
    unit = _unit()
    _rates(unit, _configure(Law.DCQCN), _event(EventKind.CNP, t=5), _configure(Law.DCQCN, init=7))
    assert unit.rows[0, LAW_ROW.index("started")] == 1


def test_each_law_has_its_events() -> None:
    """RTT moves timely only, CNP and bytes dcqcn only, and a loss none."""
    for law, kinds in ((Law.TIMELY, (0,)), (Law.DCQCN, (1,)), (Law.FIXED, ())):
        for kind in list(EventKind)[: EventKind.CONFIGURE]:
            unit = _unit()
            _, changed = _rates(unit, _configure(law), _event(kind, t=9000, value=4500))
            assert changed[1] == (kind in kinds), (law, kind)


def test_queue_pairs_do_not_touch_each_other() -> None:
    unit = _unit()
    _rates(unit, *(_configure(Law.DCQCN, qp) for qp in range(3)), _event(EventKind.CNP, 1, t=7))
    assert (unit.rows[:, 1] / _GBPS).tolist() == [10, 5, 10]
