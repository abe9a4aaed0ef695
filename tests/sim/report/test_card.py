"""The model card for the page."""

import dataclasses
from typing import Any

import numpy as np
from tests.sim.report.conftest import synthetic_card

from precog_models.image import pretrained
from precog_sim.report.card import closed_loop_facts, model_card


def _card() -> dict[str, Any]:
    return synthetic_card(np.random.default_rng(1))


def test_groups_come_by_size_with_their_errors() -> None:
    metadata = _card()
    card = model_card(metadata)
    samples = [group.samples for group in card.scenarios]
    assert samples == sorted(samples, reverse=True)
    assert card.scenarios[0].share == 1
    by_name = {group.name: group for group in card.scenarios}
    assert by_name["varied"].errors == ()
    found = by_name["8 senders"].errors
    assert [whisker.label for whisker in found] == ["LSTM", "AR(3)", "persistence"]
    told = metadata["card"]["errors"]["8 senders"]["integer"]
    assert (found[0].middle, [found[0].low, found[0].high]) == (told["balanced"], told["interval"])
    assert card.most == max(w.high for group in card.scenarios for w in group.errors)
    assert by_name["varied"].varied == "PID, TIMELY; 2–20 senders"


def test_summary_says_shape_size_and_training_data() -> None:
    metadata = _card()
    learnt = sum(
        group["samples"]
        for group in metadata["card"]["scenarios"].values()
        if group["use"] != "test"
    )
    assert model_card(metadata).summary == (
        "3 steps of 1 input, 16 hidden units, 1 output, 2048 bytes of weights, "
        f"{learnt:,} samples to learn from, CRC {metadata['payload_crc32']}"
    )


def test_everything_else_is_a_fact() -> None:
    card = model_card(_card())
    assert card.sections["training"] == {
        "recipe.name": "precog",
        "recipe.rate": "0.02",
        "seed": "1",
    }
    assert card.sections["image"]["source"] == "made up"
    assert "scenarios" not in card.sections


def test_a_card_without_scenarios_is_all_facts() -> None:
    card = model_card({"card": {"errors": {"a": {"b": 1}}}, "version": 2})
    assert card.scenarios == ()
    assert card.sections == {"image": {"version": "2"}, "errors": {"a.b": "1"}}
    assert card.summary == "what the loaded image says of itself"


def test_the_closed_loop_s_verdict_is_a_section_of_the_card() -> None:
    image = pretrained()
    facts = closed_loop_facts(image.to_bytes())
    assert facts["verdict"].startswith("passed: worst upper end 1.024, 0.026 below the bound 1.05")
    assert facts["99 % slowdown, leaves, predpid"].startswith("0.920 [0.908, 0.932]")
    card = model_card(_card() | {"closed_loop": facts})
    assert card.sections["closed loop"] == facts
    other = dataclasses.replace(image, card={})
    assert closed_loop_facts(other.to_bytes()) == {
        "verdict": "not judged: precog model evaluate makes a record"
    }
