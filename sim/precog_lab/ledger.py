"""Every counter explained by others: equations that hold whatever the wire does to frames.

What the lab sees, what the cards count and what the guests' kernels count are three books of the
same packets.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from .passing import Seen

__all__ = ["explained"]


def explained(
    figures: Mapping[str, Any], seen: Seen, guests: Sequence[Mapping[str, int]], differences: int
) -> dict[str, dict[str, Any]]:
    """By name: what was counted, what explains it and whether both are equal.

    Parameters
    ----------
    figures : mapping
        Totals of a run.
    seen : Seen
    guests : sequence of mapping
        Kernels' own counters; every guest's soft-RoCE.
    differences : int
        Frames that came out otherwise than they should.
    """
    cnps = figures["cnps"]
    sent, received = (sum(guest[name] for guest in guests) for name in ("sent_pkts", "rcvd_pkts"))
    rows: tuple[tuple[str, int, int, str], ...] = (
        (
            "frames",
            seen.frames,
            seen.identical + seen.lost_data + differences,
            "came out as they went in, lost on the wire, or different",
        ),
        (
            "shims",
            seen.shims,
            seen.roce - seen.unbound + cnps,
            "packets of queue pairs that the cards know, and CNPs",
        ),
        (
            "lost",
            figures["lost"],
            seen.lost_data + seen.lost_cnps,
            "frames of guests, and CNPs",
        ),
        (
            "icrc_ok",
            figures["icrc_ok"] + figures["icrc_bad"],
            seen.roce + cnps - seen.lost_data - seen.lost_cnps,
            "packets of guests and CNPs that arrived, each checked once",
        ),
        (
            "marked",
            figures["marked"],
            seen.marked_data + seen.marked_answers,
            "packets that a CNP may answer, and acknowledgements",
        ),
        (
            "marked_data",
            seen.marked_data,
            cnps + figures["cnps_limited"] + figures["cnps_busy"] + figures["cnps_unknown"],
            "CNPs sent, too soon for one, without room for one, of no queue pair",
        ),
        (
            "scores_heard",
            figures["scores_heard"] + figures["scores_merged"] + figures["scores_refused"],
            seen.shims - seen.lost_shims - seen.strange_shims,
            "shims that arrived, but for those of queue pairs that had gone",
        ),
        (
            "pairs_added",
            figures["pairs_added"],
            figures["pairs_released"],
            "slots released after their queue pairs had gone",
        ),
        ("sent_pkts", sent, seen.roce, "what the kernels sent is what the lab took"),
        (
            "rcvd_pkts",
            received,
            seen.roce - seen.lost_data,
            "what the kernels got is what the wire did not lose; they do not count CNPs",
        ),
    )
    return {
        name: {"counted": left, "explained": right, "equal": left == right, "by": why}
        for name, left, right, why in rows
    }
