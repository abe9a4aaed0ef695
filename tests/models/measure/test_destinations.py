"""Statistics by destination against the lists that they summarise."""

import random

from precog_models.measure.destinations import DestinationEvent, DestinationRow, Destinations
from precog_spec.contract import DESTINATION_FIELDS, Fmt


def test_numbers_are_those_of_the_events(seed: int) -> None:
    rng = random.Random(seed)
    table = Destinations(4)
    rtts: list[int] = []
    losses = marks = 0
    for _ in range(200):
        rtt = rng.choice([None, rng.getrandbits(24)])
        loss, mark = rng.random() < 0.3, rng.random() < 0.2
        table.add(2, DestinationEvent(rtt, loss, mark))
        table.add(1, DestinationEvent(score=7))
        rtts += [rtt] if rtt is not None else []
        losses, marks = losses + loss, marks + mark
    read = table.read(2)
    assert (read["samples"], read["rtt_sum"]) == (len(rtts), sum(rtts))
    assert (read["rtt_min"], read["rtt_max"]) == (min(rtts), max(rtts))
    assert (read["rtt_last"], read["losses"], read["marks"]) == (rtts[-1], losses, marks)
    assert (read["score_valid"], table.read(1)["score"]) == (0, 7)


def test_clear() -> None:
    table = Destinations(2)
    table.add(1, DestinationEvent(rtt=5, loss=True, score=0))
    assert table.read(1, clear=True)["losses"] == 1
    assert table.read(1) == DestinationRow().values()
    assert table.read(1)["rtt_min"] == Fmt.RTT.max


def test_counts_wrap_and_names_agree() -> None:
    row = DestinationRow(samples=(1 << 32) - 1, rtt_sum=(1 << 48) - 1, losses=(1 << 32) - 1)
    row.add(DestinationEvent(rtt=3, loss=True))
    assert (row.samples, row.rtt_sum, row.losses) == (0, 2, 0)
    assert set(row.values()) == {name for name, _ in DESTINATION_FIELDS}
