"""The data card: what a model was trained on, how, and how well it did, as JSON data."""

from datetime import UTC, datetime
from typing import Any

from ..data.dataset import Dataset
from .evaluate import Evaluation

__all__ = ["data_card"]

_DIGITS = 4


def data_card(
    dataset: Dataset,
    evaluation: Evaluation,
    training: dict[str, Any],
    *,
    source: str,
) -> dict[str, Any]:
    """Everything that a user of the model should know, in a few kilobytes.

    Parameters
    ----------
    dataset : Dataset
        What it was trained on.
    evaluation : Evaluation
        Its errors.
    training : dict
        `TrainedModel.card()`.
    source : str
        Where the samples came from, in words.

    Returns
    -------
    dict
        ``date``, ``source``, ``scenarios`` (by group), ``training``, ``errors`` (percent, by group
        and method, all rate laws together).
    """
    scenarios: dict[str, dict[str, Any]] = {}
    for trace in dataset.traces:
        group = scenarios.setdefault(
            trace.group,
            {"laws": [], "runs": 0, "samples": 0, "seeds": [], "use": trace.role.value},
        )
        group["runs"] += 1
        group["samples"] += len(trace.rtt)
        if trace.law not in group["laws"]:
            group["laws"].append(trace.law)
        if trace.card.get("seed") not in [None, *group["seeds"]]:
            group["seeds"].append(trace.card["seed"])
        for key in ("base_rtt_us", "senders"):
            if key in trace.card:
                low, high = group.get(key, [trace.card[key]] * 2)
                group[key] = [min(low, trace.card[key]), max(high, trace.card[key])]
    errors: dict[str, dict[str, Any]] = {}
    for score in evaluation.scores:
        if score.law == "all":
            errors.setdefault(score.group, {})[score.method] = {
                "balanced": round(score.balanced, _DIGITS),
                "interval": [round(end, _DIGITS) for end in score.interval],
                "unbalanced": round(score.unbalanced, _DIGITS),
            }
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "errors": errors,
        "scenarios": scenarios,
        "source": source,
        "training": training,
    }
