"""The hosts of a run, each of which tries a source of guesses before it heeds it.

    start:       guess ─► has this host's trial shown skill at the receiver? ─► guess, or last level
    end of flow: was it crowded, was it guessed so? ─► the host's trial

The trial and the rule are the hosts' own (`precog_host.trial`). As `precog_host.beliefs` has it, a
start counts once its flow has ended, its guess whether it was heeded or not, and not at all if it
is small. The level is the one that the flow heard with its first 64 KB.
"""

from collections import defaultdict
from collections.abc import Mapping
from functools import partial
from ipaddress import IPv4Address, IPv6Address

import numpy as np
from numpy.typing import NDArray

from precog_host.trial import Counts, Trial, believed, merged
from precog_models.forecast.starts import CROWDED
from precog_net.workloads import Traffic
from precog_sim.network import Result
from precog_studies.prediction.guesses import LEAST

__all__ = ["Hosts"]

_US_PER_PS = 1e-6
_Ints = NDArray[np.int64]
_ENDS, _STARTS = 0, 1  # at one time flows end first


class Hosts:
    """What the hosts of a network know of one source.

    Parameters
    ----------
    prior : mapping of address to Counts, optional
        What all of them are told of it.
    """

    def __init__(self, prior: Mapping[IPv4Address | IPv6Address, Counts] | None = None) -> None:
        self._trials: dict[int, Trial] = defaultdict(partial(Trial, prior))

    def beliefs(self, result: Result, traffic: Traffic, guesses: _Ints, told: _Ints) -> _Ints:
        """Levels that flows believe when they begin, 0: none; hosts learn from the run.

        Parameters
        ----------
        result, traffic, guesses
            As `heeds`.
        told : ndarray of int64, shape (flows,)
            Levels that the receivers told last, as `windows.known` has it.
        """
        heeded = self.heeds(result, traffic, guesses).tolist()
        rows = zip(guesses.tolist(), told.tolist(), heeded, strict=True)
        levels = [believed(guess, last, heeded=one) or 0 for guess, last, one in rows]
        return np.array(levels, dtype=np.int64)

    def heeds(self, result: Result, traffic: Traffic, guesses: _Ints) -> NDArray[np.bool_]:
        """Whether each flow's host heeded the source when the flow began; they learn from the run.

        Parameters
        ----------
        result : Result
        traffic : Traffic
            Its flows.
        guesses : ndarray of int64, shape (flows,)
            Levels that the source guessed.
        """
        found = np.zeros(len(traffic), dtype=np.bool_)
        counts = np.flatnonzero(traffic.size > LEAST).tolist()
        begun = traffic.start_ps * _US_PER_PS
        ended = result.start_us + result.fct_us
        events = [(float(begun[f]), _STARTS, f) for f in counts]
        events += [(float(ended[f]), _ENDS, f) for f in counts if not np.isnan(ended[f])]
        for _, event, f in sorted(events):
            trial, peer = self._trials[int(traffic.src[f])], IPv4Address(int(traffic.dst[f]))
            if event == _STARTS:
                found[f] = trial.heeds(peer)
            else:
                crowded = bool(result.heard[f] >= CROWDED)
                trial.note(peer, crowded=crowded, guessed=bool(guesses[f] >= CROWDED))
        return found

    def outcomes(self) -> dict[IPv4Address | IPv6Address, Counts]:
        """Outcomes of all hosts by receiver, added up: a prior for others."""
        return merged(trial.outcomes() for trial in self._trials.values())
