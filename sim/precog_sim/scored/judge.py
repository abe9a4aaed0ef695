"""One model in the closed loop, compared with the law alone, persistence, and its own inversion.

Scores of the sender's own queue are followed, with the skill monitor on. Every run has a seed, and
runs of one seed are compared with each other. `precog_sim.evaluation` judges by these rows.
"""

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from precog_host.device import Device
from precog_models.image import Image
from precog_models.tree_image import TreeImage
from precog_sim.loop import LoopSetup, run_in_loop
from precog_sim.network import Record
from precog_sim.scored.measure import Figures, measure, of_means
from precog_sim.scored.networks import START_GBPS, scenario
from precog_sim.scored.settings import Case
from precog_spec.contract import Fmt

__all__ = ["RTT_LAW", "inverted", "queue_row", "rtt_row"]

RTT_LAW = "predpid"
_PSCHED = "queues"  # constants for scores of models of queues
_PROBE_US = 2.0
_PROBES = 4096
_BYTE_MAX = 127  # of a weight
_CHANGE = 0.2  # of RTTs, always predicted
_SCRAMBLED = 11  # a stream of its own for each seed
_How = tuple[Sequence[int], float, float | None]  # seeds, scale, delay of links


def queue_row(
    image: Image | TreeImage,
    live: Image | None,
    network: str,
    law: str,
    *,
    seeds: Sequence[int],
    scale: float,
    delay_us: float | None = None,
) -> dict[str, Any]:
    """A model of queues under one law in one network.

    Returns
    -------
    dict
        ``network``, ``law``, ``psched`` (its preset), ``followed``, and ratios by figure: of the
        model to the law ``alone``, to the model that is ``live`` if there is one, to scores by
        ``persistence``; of its ``inverted`` scores to the law alone, and of those ``untried``,
        without the skill monitor.

    Raises
    ------
    ValueError
        There is no seed, network or delay.
    """
    if not seeds:
        raise ValueError("seeds must be at least 1, not 0")
    how = seeds, scale, delay_us
    kind = "tree" if isinstance(image, TreeImage) else "lstm"
    alone = _scored(Case(network, law), None, how)
    case = Case(network, law, "queue", model=kind, psched=_PSCHED)
    ours = _scored(case, image, how)
    turned = replace(case, source="queue_inverted")
    found: dict[str, Any] = {
        "network": network,
        "law": law,
        "psched": _PSCHED,
        "followed": _mean_followed(ours),
        "alone": _ratios(ours, alone),
        "persistence": _ratios(ours, _scored(replace(case, source="persistence"), None, how)),
        "inverted": _ratios(_scored(turned, image, how), alone),
        "untried": _ratios(_scored(replace(turned, skill=False), image, how), alone),
    }
    if live is not None:
        found["live"] = _ratios(ours, _scored(replace(case, model="lstm"), live, how))
    return found


def rtt_row(image: Image, network: str, *, seeds: Sequence[int], scale: float) -> dict[str, Any]:
    """A model of RTTs: `predpid` with it, against `pid`, and with false ones in its place.

    Persistence is `pid`: it acts on the last RTT. False are the model with its predicted change
    negated (``inverted``), with weights of its head drawn anew for each seed (``random``), the
    smoothed RTT, which is late (``stale``), and changes of +20 % and -20 % throughout (``rising``,
    ``falling``).

    Returns
    -------
    dict
        ``network``, ``law``, ``followed``, and ratios by figure: ``alone``, ``persistence``, those
        of false predictions, and of inverted ones ``untried``, without the skill monitor.

    Raises
    ------
    ValueError
        There is no seed or network.
    DeviceError
        The model is none of RTTs.
    """
    if not seeds:
        raise ValueError("seeds must be at least 1, not 0")
    how = seeds, scale, None
    setup = LoopSetup(
        preset="precog", algorithm=RTT_LAW, min_gbps=0.1, init_gbps=START_GBPS[network], image=image
    )
    alone = _runs(replace(setup, algorithm="pid", image=None), "", network, how)
    ours = _runs(setup, "", network, how)
    false = {
        "inverted": [inverted(image)] * len(seeds),
        "random": [_scrambled(image, seed) for seed in seeds],
        "stale": [_constant(image, 0.0)] * len(seeds),
        "rising": [_constant(image, _CHANGE)] * len(seeds),
        "falling": [_constant(image, -_CHANGE)] * len(seeds),
    }
    found = {"network": network, "law": RTT_LAW, "followed": _mean_followed(ours)}
    found["alone"] = found["persistence"] = _ratios(ours, alone)
    for name, images in false.items():
        runs = [
            _runs(replace(setup, image=one), "", network, ((seed,), scale, None))[0]
            for one, seed in zip(images, seeds, strict=True)
        ]
        found[name] = _ratios(runs, alone)
    blind = replace(setup, image=inverted(image), parameters=(("skill_monitor", 0.0),))
    return found | {"untried": _ratios(_runs(blind, "", network, how), alone)}


def _with_head(image: Image, wl: Any, bl: Any) -> Image:
    return replace(image, weights=replace(image.weights, wl=wl, bl=bl))


def inverted(image: Image) -> Image:
    """The model whose head has the other sign; the most negative weight is cut by one step."""
    wl = np.minimum(-image.weights.wl, _BYTE_MAX)
    return _with_head(image, wl, np.minimum(-image.weights.bl, Fmt.OUT.max))


def _scrambled(image: Image, seed: int) -> Image:
    """The model whose head's weights are drawn at random where it has any."""
    wl = image.weights.wl
    drawn = np.random.default_rng((seed, _SCRAMBLED)).integers(-_BYTE_MAX, _BYTE_MAX + 1, wl.shape)
    return _with_head(image, np.where(wl != 0, drawn, 0).astype(wl.dtype), image.weights.bl)


def _constant(image: Image, change: float) -> Image:
    """A model that always predicts this change of the smoothed RTT."""
    bl = np.zeros_like(image.weights.bl)
    bl[0] = round(change * Fmt.OUT.one)
    return _with_head(image, np.zeros_like(image.weights.wl), bl)


def _mean_followed(runs: Sequence[Figures]) -> float:
    return sum(run.followed for run in runs) / len(runs)


def _ratios(ours: Sequence[Figures], others: Sequence[Figures]) -> dict[str, Any]:
    return {name: asdict(ratio) for name, ratio in of_means(ours, others).items()}


def _scored(case: Case, image: Image | TreeImage | None, how: _How) -> list[Figures]:
    setup = case.setup() if image is None else replace(case.setup(), queue_model=image)
    return _runs(setup, case.options, case.network, how)


def _runs(setup: LoopSetup, options: str, network: str, how: _How) -> list[Figures]:
    seeds, scale, delay_us = how
    record = Record(
        packets=False, log=True, scores=setup.forecasts, probe_us=_PROBE_US, probes=_PROBES
    )
    found = []
    for seed in seeds:
        with Device.open("emu:" + options) as device:
            made = scenario(network, scale, delay_us=delay_us)
            found.append(measure(run_in_loop(device, setup, made, seed=seed, record=record)))
    return found
