"""The whole chain on a small plan: a model file with its card comes out."""

from dataclasses import replace
from pathlib import Path

import pytest

from precog_models.image import Image
from precog_models.train import presets
from precog_sim import learn as chain


def test_a_small_model_is_learned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small = replace(presets.RECIPES["precog"], epochs=3, updates=30, batch=64, history_pairs=100)
    monkeypatch.setitem(presets.RECIPES, "small", small)
    seen: list[str] = []
    learned = chain.learn(
        "smoke", "small", seed=5, version=7, progress=lambda text, *_: seen.append(text)
    )
    path = tmp_path / "model.safetensors"
    learned.image.save(path)
    image = Image.load(path)
    assert image.weights.version == 7
    assert seen[0] == "simulate"
    assert any(text.startswith("train") for text in seen)
    card = image.card
    assert card["training"]["seed"] == 5
    assert card["training"]["recipe"]["updates"] == 30
    assert card["scenarios"]["8 senders"] == {
        "base_rtt_us": [4.16, 4.16],
        "laws": ["pid", "timely"],
        "runs": 2,
        "samples": sum(len(t.rtt) for t in learned.dataset.traces if t.group == "8 senders"),
        "seeds": [5000],
        "senders": [8, 8],
        "use": "test",
    }
    score = learned.evaluation.score("incast-20", "integer")
    assert card["errors"]["incast-20"]["integer"]["balanced"] == round(score.balanced, 4)


def test_unknown_names_are_refused() -> None:
    with pytest.raises(ValueError, match="data plan must be one of"):
        chain.learn("everything")
