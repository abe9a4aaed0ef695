"""The packet path's blocks agree with the golden models and the gateware."""

import pytest

from precog_hw.measure.destinations import DESTINATION
from precog_hw.packet.cps_slots import DESTINATIONS
from precog_hw.packet.layouts import CARD_CONFIG
from precog_hw.packet.qp_lookup import WAYS
from precog_models.packet.card import CardConfig
from precog_spec.config import NicConfig
from precog_spec.contract import Outcome
from precog_spec.frames.cps import Mode, ShimFault
from precog_spec.frames.descriptor import Reason
from precog_spec.frames.qp_key import MAX_SLOTS, table_rows
from precog_spec.registers.identity import Identity
from precog_spec.registers.model import Access
from precog_spec.registers.packet import (
    DESTINATION_VALUES,
    OUTCOME_EVENTS,
    PACKET_PARAMETERS,
    PACKET_QP_CONFIG,
    RX_CLASSES,
    TX_CLASSES,
    packet_blocks,
)
from precog_spec.registers.precog import build_map


def test_classes_are_the_reasons_and_the_faults() -> None:
    reasons = tuple(reason.name.lower() for reason in Reason if reason)
    faults = tuple(f"shim_{fault.name.lower()}" for fault in ShimFault if fault)
    assert ("inserted", *reasons, "resv6_written") == TX_CLASSES
    assert ("of_qp", *reasons, *faults) == RX_CLASSES


def test_outcomes_stand_in_the_order_of_their_bits() -> None:
    words = [name.removeprefix("rtt_") for name in OUTCOME_EVENTS]
    for word, outcome in zip(words, Outcome, strict=True):
        assert outcome.name is not None
        assert outcome.name.lower().removeprefix("dropped_") == word.removesuffix("s")


def test_resets_are_the_golden_cards_defaults() -> None:
    config = CardConfig()
    values = {**vars(config), **vars(config.cps), **vars(config.cnp), **vars(config.trust)}
    for register in PACKET_PARAMETERS:
        for field in register.fields:
            assert field.reset == int(values[field.name]), field.name


def test_every_parameter_is_one_of_the_cards() -> None:
    groups = ("cps", "cnp", "trust")
    nested = {name for group in groups for name in CARD_CONFIG[group].shape.members}
    flat = {name for name in CARD_CONFIG.members if name not in (*groups, "senders")}
    assert {f.name for r in PACKET_PARAMETERS for f in r.fields} == nested | flat


def test_modes_and_destinations() -> None:
    mode = PACKET_QP_CONFIG[0].field("mode")
    assert mode.values == tuple((mode.name.lower(), int(mode)) for mode in Mode)
    assert 1 << PACKET_QP_CONFIG[0].field("destination").bits == DESTINATIONS
    place = next(b for b in packet_blocks(NicConfig(width=64)) if b.name == "LOOKUP").register(
        "PLACE"
    )
    assert place.field("way").max >= WAYS - 1
    assert place.field("row").max >= table_rows(MAX_SLOTS) - 1


def test_a_destinations_numbers_are_all_shown() -> None:
    bits: dict[str, int] = {}
    for register in DESTINATION_VALUES:
        for field in register.fields:
            assert field.access is Access.RO
            name = field.name.removesuffix("_low").removesuffix("_high")
            bits[name] = bits.get(name, 0) + field.bits
    assert bits == {name: field.width for name, field in DESTINATION}


@pytest.mark.parametrize("width", [8, 64, 128, 256, 512])
def test_a_device_says_whether_packets_flow_through_it(width: int) -> None:
    regmap = build_map(NicConfig(width=width), Identity(0))
    register = regmap.block("ID").register("PACKETS")
    assert register.field("width").get(register.reset) == width
    assert regmap.block("PACKET").doc
    with pytest.raises(KeyError):
        build_map(NicConfig(), Identity(0)).block("PACKET")
    for options, message in (
        ({"width": 32}, "width must be one of 0, 8, 64, 128, 256, 512, not 32"),
        ({"qps": 1}, "qps must be 2 or more with laws, not 1"),
        ({"laws": 2}, "laws must be True or False, not 2"),
        ({"width": width, "qps": 1, "laws": False}, "qps must be 2 or more with width, not 1"),
    ):
        with pytest.raises(ValueError, match=message):
            NicConfig(**options)
