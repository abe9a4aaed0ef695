"""Train and test sets: divided by blocks of time and by scenario, never by random pairs.

Neighbouring pairs share samples, so a random split tests on what was trained. Here a run is cut
into 20 stretches of time over all its flows; every fifth is test only, each run beginning with
another one; a pair whose window or label crosses a border belongs to neither side. Whole scenarios
are kept away from training besides.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .pairs import Pairs, make_pairs
from .trace import Role, RttTrace

__all__ = ["TEST_EVERY", "Dataset"]

TEST_EVERY = 5


@dataclass(frozen=True, eq=False)
class Dataset:
    """Pairs to learn from and pairs to be judged by.

    Parameters
    ----------
    core : Pairs
        Training blocks of the `Role.SPLIT` traces: the thesis' kind of data.
    varied : Pairs or None
        The `Role.TRAIN` traces: other senders, base RTTs, gains.
    test : dict
        By group: the test blocks of `Role.SPLIT` traces, and all of the `Role.TEST` ones.
    traces : tuple of RttTrace
        Where everything came from; `Pairs.trace` is an index into it.
    """

    core: Pairs
    varied: Pairs | None
    test: dict[str, Pairs]
    traces: tuple[RttTrace, ...]

    @classmethod
    def from_traces(cls, traces: Sequence[RttTrace]) -> "Dataset":
        """Divide traces by their roles.

        Raises
        ------
        ValueError
            There is nothing to train on by blocks, or a group is both trained on and kept away.
        """
        groups = {role: {trace.group for trace in traces if trace.role is role} for role in Role}
        both = groups[Role.TEST] & (groups[Role.TRAIN] | groups[Role.SPLIT])
        if both:
            raise ValueError(f"groups must not be both trained on and kept away: {sorted(both)}")
        if not groups[Role.SPLIT]:
            raise ValueError("a dataset must have a trace with role 'split'")
        core: list[Pairs] = []
        varied: list[Pairs] = []
        test: dict[str, list[Pairs]] = {}
        splits = 0
        for index, trace in enumerate(traces):
            pairs = make_pairs(trace, index)
            if trace.role is Role.TRAIN:
                varied.append(pairs)
            elif trace.role is Role.TEST:
                test.setdefault(trace.group, []).append(pairs)
            else:
                # No sample may be seen both by training and by the test: whole pairs only.
                held_out = pairs.block % TEST_EVERY == splits % TEST_EVERY
                core.append(pairs.select(pairs.whole & ~held_out))
                test.setdefault(trace.group, []).append(pairs.select(pairs.whole & held_out))
                splits += 1
        return cls(
            core=Pairs.concatenate(core),
            varied=Pairs.concatenate(varied) if varied else None,
            test={group: Pairs.concatenate(parts) for group, parts in test.items()},
            traces=tuple(traces),
        )

    def law_of(self, pairs: Pairs) -> np.ndarray[tuple[int], np.dtype[np.str_]]:
        """The rate law behind each pair."""
        return np.array([trace.law for trace in self.traces])[pairs.trace]
