"""Precog's map agrees with the contract, the configuration and the golden NIC."""

import dataclasses

import pytest
from tests.spec.registers.configurations import MAPS

from precog_models import nic
from precog_models.rate import unit
from precog_spec.config import NicConfig
from precog_spec.contract import DECISION_FIELDS, Algorithm, Fmt, Q
from precog_spec.registers.counters import COUNTERS
from precog_spec.registers.identity import Identity
from precog_spec.registers.model import Access, Field
from precog_spec.registers.precog import build_map
from precog_spec.registers.qp import QP_CONFIG, QP_STATUS

MAP = build_map(NicConfig(trials=True), Identity(0x1234))


def fields() -> dict[str, Field]:
    registers = [r for name in NicConfig().parameter_blocks for r in MAP.block(name).registers]
    return {f.name: f for r in (*registers, *QP_CONFIG, *QP_STATUS) for f in r.fields}


def test_sizes_are_those_of_the_configuration() -> None:
    config = {f.name: f.default for f in dataclasses.fields(NicConfig)}
    sizes = {f.name: f.default for f in dataclasses.fields(NicConfig)}
    assert sizes.items() <= config.items()


@pytest.mark.parametrize(
    ("name", "fmt"),
    [
        ("sigma", Fmt.SIGMA),
        ("kp", Fmt.GAIN),
        ("ki", Fmt.GAIN),
        ("kd", Fmt.GAIN),
        ("dmin", Fmt.DELTA),
        ("dmax", Fmt.DELTA),
        ("queue_budget", Fmt.SRTT),
        ("rttch_margin", Fmt.SRTT),
        ("target", Fmt.SRTT),
        ("srtt", Fmt.SRTT),
        ("rtt_pred", Fmt.SRTT),
        ("min_rate", Fmt.RATE),
        ("max_rate", Fmt.RATE),
        ("init_rate", Fmt.RATE),
        ("rate", Fmt.RATE),
        ("window", Fmt.WINDOW),
        ("base", Fmt.RTT),
    ],
)
def test_fields_have_the_contracts_formats(name: str, fmt: Q) -> None:
    field = fields()[name]
    assert (field.bits, field.frac_bits, field.signed) == (fmt.width, fmt.frac_bits, fmt.signed)


def test_parameters_and_configuration_are_those_of_the_golden_nic() -> None:
    parameters = [
        f.name
        for b in NicConfig(trials=True).parameter_blocks
        for r in MAP.block(b).registers
        for f in r.fields
    ]
    assert tuple(parameters) == nic.PARAMETERS
    assert tuple(f.name for r in QP_CONFIG for f in r.fields) == unit.QP_CONFIG


def test_status_is_the_decision_and_a_count() -> None:
    names = [f.name for r in QP_STATUS for f in r.fields]
    assert names == [name for name, _ in DECISION_FIELDS if name != "qp"] + ["samples"]


def test_algorithms_have_their_numbers() -> None:
    field = QP_CONFIG[0].field("algorithm")
    assert field.values == tuple((a.name.lower(), int(a)) for a in Algorithm)


def test_times_of_reset_follow_the_tick() -> None:
    slow = build_map(NicConfig(), Identity(0, tick_ps=4000))
    for name in ("QUEUE_BUDGET", "RTTCH_MARGIN"):
        fast = MAP.block("PID").register(name).fields[0].reset
        assert slow.block("PID").register(name).fields[0].reset * 4 == pytest.approx(fast, rel=1e-2)
    with pytest.raises(ValueError, match=r"tick_ps must be in 1..16777215, not 0"):
        Identity(0, tick_ps=0)


@pytest.mark.parametrize("qps", [1, 64, 65536])
@pytest.mark.parametrize("sets", [2, 64])
def test_every_size_has_a_map(qps: int, sets: int) -> None:
    regmap = build_map(NicConfig(qps=qps, sets=sets, laws=qps > 1), Identity(0))
    pool = regmap.block("ID").register("POOL")
    assert pool.field("qps").get(pool.reset) == qps
    assert pool.field("sets").get(pool.reset) == sets
    assert regmap.block("MODEL").table("SLOTS").count == sets
    assert regmap.block("COUNTERS").table("COUNTERS").count == len(COUNTERS)


def test_everything_has_documentation() -> None:
    for placed in MAP.blocks:
        assert placed.block.doc
        for word in MAP.words():
            if word.register:
                assert word.register.doc.endswith(".")
                assert all(f.doc for f in word.register.fields)


def test_only_the_low_half_of_a_counter_and_pulses_have_side_effects() -> None:
    """RO fields only in tables owned by hardware, or without pulses beside them."""
    for word in MAP.words():
        if word.register and word.register.mask(Access.PULSE):
            assert not word.register.mask(Access.RO)


def test_what_a_write_may_change_is_in_the_map() -> None:
    names, said = set(), set()
    for regmap in MAPS.values():
        for word in regmap.words():
            if word.register is not None:
                where = word.table or word.register
                names.add(f"{word.block.name}.{where.name}")
                said |= set(word.register.affects)
    assert said
    assert said <= names
