"""The model card for the page: a line, errors and training data to plot, and the rest as facts."""

import hashlib
from dataclasses import dataclass
from typing import Any

from precog_models.judged import find_record, read_record, verdict_of

__all__ = ["ModelCard", "Scenario", "Whisker", "closed_loop_facts", "model_card"]

# Methods of the card, their labels, and the roles of their colours.
_METHODS = {
    "integer": ("LSTM", "predpid"),
    "ar3": ("AR(3)", "pid"),
    "linear": ("linear", "dctcp"),
    "persistence": ("persistence", "muted"),
}
_PLOTTED = ("errors", "scenarios")


@dataclass(frozen=True)
class Whisker:
    """One predictor's balanced error on one group, percent, and its 95 % interval."""

    label: str
    role: str
    middle: float
    low: float
    high: float


@dataclass(frozen=True)
class Scenario:
    """One group of runs that the model was trained on or judged by.

    Parameters
    ----------
    name, use : str
        The group; ``"train"``, ``"test"`` or ``"split"``.
    runs, samples : int
        How many.
    share : float
        Its samples over those of the largest group, for a bar.
    varied : str
        Laws, senders and base RTTs, in words.
    errors : tuple of Whisker
        Empty where nothing was judged.
    """

    name: str
    use: str
    runs: int
    samples: int
    share: float
    varied: str
    errors: tuple[Whisker, ...]


@dataclass(frozen=True)
class ModelCard:
    """Summary facts, plotted groups, all other facts by section."""

    summary: str
    scenarios: tuple[Scenario, ...]
    most: float
    sections: dict[str, dict[str, str]]


def model_card(metadata: dict[str, Any]) -> ModelCard:
    """What the page shows of an image's metadata; keys that it does not know become facts.

    Parameters
    ----------
    metadata : dict
        `Image.metadata()`; every key is optional.
    """
    card = metadata.get("card", {})
    scenarios = _scenarios(card)
    sections: dict[str, dict[str, str]] = {}
    rest = {key: value for key, value in metadata.items() if key != "card"}
    for key, value in [*rest.items(), *card.items()]:
        if key in _PLOTTED and scenarios:
            continue
        if isinstance(value, dict):
            sections[key.replace("_", " ")] = _flat(value)
        else:
            sections.setdefault("image", {}).update(_flat({key: value}))
    ends = [error.high for group in scenarios for error in group.errors]
    return ModelCard(_summary(metadata, scenarios), scenarios, max(ends, default=1.0), sections)


def closed_loop_facts(image: bytes) -> dict[str, str]:
    """The shipped record of a model's file in the closed loop, as facts for its card."""
    digest = hashlib.sha256(image).hexdigest()
    path = find_record(digest)
    if path is None:
        return {"verdict": "not judged: precog model evaluate makes a record"}
    found = read_record(path, digest)
    loop = found["closed_loop"]
    facts = {"verdict": verdict_of(found), "seeds": f"{loop['seeds']}", "commit": found["commit"]}
    for row in loop["results"]:
        ratio = row["alone"]["slowdown_p99"]
        facts[f"99 % slowdown, {row['network']}, {row['law']}"] = (
            f"{ratio['mean']:.3f} [{ratio['low']:.3f}, {ratio['high']:.3f}] of that without"
        )
    return facts


def _summary(metadata: dict[str, Any], scenarios: tuple[Scenario, ...]) -> str:
    shape = metadata.get("architecture", {})
    parts = []
    if {"inputs", "steps", "hidden", "outputs"} <= shape.keys():
        parts.append(
            f"{shape['steps']} steps of {shape['inputs']} input, {shape['hidden']} hidden units, "
            f"{shape['outputs']} output"
        )
    if "payload_bytes" in metadata:
        parts.append(f"{metadata['payload_bytes']} bytes of weights")
    samples = sum(group.samples for group in scenarios if group.use != "test")
    if samples:
        parts.append(f"{samples:,} samples to learn from")
    if "payload_crc32" in metadata:
        parts.append(f"CRC {metadata['payload_crc32']}")
    return ", ".join(parts) or "what the loaded image says of itself"


def _scenarios(card: dict[str, Any]) -> tuple[Scenario, ...]:
    groups = card.get("scenarios", {})
    most = max((group["samples"] for group in groups.values()), default=1)
    errors = card.get("errors", {})
    return tuple(
        Scenario(
            name=name,
            use=group["use"],
            runs=group["runs"],
            samples=group["samples"],
            share=group["samples"] / most,
            varied=_varied(group),
            errors=_whiskers(errors.get(name, {})),
        )
        for name, group in sorted(groups.items(), key=lambda item: -item[1]["samples"])
    )


def _varied(group: dict[str, Any]) -> str:
    parts = [", ".join(law.upper() for law in group.get("laws", []))]
    for key, unit in (("senders", "senders"), ("base_rtt_us", "µs base RTT")):
        if key in group:
            low, high = group[key]
            parts.append(f"{low:g} {unit}" if low == high else f"{low:g}–{high:g} {unit}")
    return "; ".join(part for part in parts if part)


def _whiskers(errors: dict[str, Any]) -> tuple[Whisker, ...]:
    return tuple(
        Whisker(label, role, errors[method]["balanced"], *errors[method]["interval"])
        for method, (label, role) in _METHODS.items()
        if method in errors
    )


def _flat(values: dict[str, Any], prefix: str = "") -> dict[str, str]:
    """Nested keys joined by a point, lists by commas."""
    lines: dict[str, str] = {}
    for key, value in values.items():
        name = f"{prefix}{key}"
        if isinstance(value, dict):
            lines |= _flat(value, f"{name}.")
        elif isinstance(value, list | tuple):
            lines[name] = ", ".join(str(item) for item in value)
        else:
            lines[name] = f"{value:g}" if isinstance(value, float) else str(value)
    return lines
