"""One queue model in the closed loop, compared with the law alone and with the running model.

The entry point of the group ``precog.closed_loop``: what the fleet asks before it releases a model.
Scores of the sender's own queue are followed, with the skill monitor on; every run has a seed, and
runs of one seed are compared with each other.
"""

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

from precog_host.device import Device
from precog_models.image import Image
from precog_sim.loop import run_in_loop
from precog_sim.network import Record
from precog_sim.scored.measure import Figures, measure, of_means
from precog_sim.scored.networks import scenario
from precog_sim.scored.settings import LAWS, Case

__all__ = ["judge"]

_NETWORKS = ("messages",)
_PROBE_US = 2.0
_PROBES = 4096


def judge(
    candidate: bytes,
    live: bytes,
    *,
    seeds: Sequence[int],
    scale: float,
    networks: Sequence[str] = _NETWORKS,
    laws: Sequence[str] = tuple(LAWS),
    delay_us: float | None = None,
) -> dict[str, Any]:
    """Ratios of means with 95 % intervals, of every law in every network.

    Parameters
    ----------
    candidate, live : bytes
        Files of queue models.
    seeds : sequence of int
    scale : float
        Of the flows' sizes.
    networks, laws : sequence of str
    delay_us : float, optional
        Of links, as in the networks that the models are for; the networks' own if not given.

    Returns
    -------
    dict
        ``seeds``, ``scale``, ``delay_us`` and ``results``: rows with ``network``, ``law``, and of
        each figure the ratio to the law ``alone`` and to the one that is ``live``.

    Raises
    ------
    ModelImageError
        A model is none.
    ValueError
        There is no seed, network or delay.
    """
    images = {"candidate": Image.from_bytes(candidate), "live": Image.from_bytes(live)}
    if not seeds:
        raise ValueError("seeds must be at least 1, not 0")
    results = []
    for network in networks:
        for law in laws:
            how = seeds, scale, delay_us
            alone = _runs(Case(network, law), None, *how)
            case = Case(network, law, "queue")
            runs = {name: _runs(case, image, *how) for name, image in images.items()}
            ours = runs["candidate"]
            results.append(
                {
                    "network": network,
                    "law": law,
                    "followed": sum(run.followed for run in ours) / len(ours),
                    "alone": {n: asdict(r) for n, r in of_means(ours, alone).items()},
                    "live": {n: asdict(r) for n, r in of_means(ours, runs["live"]).items()},
                }
            )
    return {"seeds": len(seeds), "scale": scale, "delay_us": delay_us, "results": results}


def _runs(
    case: Case, image: Image | None, seeds: Sequence[int], scale: float, delay_us: float | None
) -> list[Figures]:
    setup = case.setup() if image is None else replace(case.setup(), queue_model=image)
    record = Record(
        packets=False, log=True, scores=case.forecasts, probe_us=_PROBE_US, probes=_PROBES
    )
    found = []
    for seed in seeds:
        with Device.open("emu:" + case.options) as device:
            network = scenario(case.network, scale, delay_us=delay_us)
            result = run_in_loop(device, setup, network, seed=seed, record=record)
        found.append(measure(result))
    return found
