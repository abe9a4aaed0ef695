# amaranth: UnusedElaboratable=no
"""Statistics by destination against the golden model: an event or a read in every cycle."""

import random
from collections import deque
from typing import Any

import pytest

from precog_hw.measure.destinations import Destinations
from precog_models.measure.destinations import DestinationEvent
from precog_models.measure.destinations import Destinations as Golden
from precog_spec.contract import DESTINATION_FIELDS, Fmt

from ..packet.bench import run


def drawn(rng: random.Random) -> DestinationEvent:
    rtt = rng.choice([None, rng.randrange(4000, 6000), 0, Fmt.RTT.max, rng.getrandbits(24)])
    score = rng.choice([None, rng.randrange(101)])
    return DestinationEvent(rtt, rng.random() < 0.3, rng.random() < 0.3, score)


def payloads(
    rng: random.Random, destinations: tuple[int, int], event: DestinationEvent
) -> tuple[dict[str, int], dict[str, int]]:
    """Fields that do not count are not 0."""
    timed = {
        "destination": destinations[0],
        "rtt": event.rtt if event.rtt is not None else rng.getrandbits(24),
        "rtt_valid": event.rtt is not None,
        "loss": event.loss,
    }
    heard = {
        "destination": destinations[1],
        "mark": event.mark,
        "score": event.score if event.score is not None else rng.getrandbits(7),
        "score_valid": event.score is not None,
    }
    return timed, heard


@pytest.mark.parametrize(("count", "cycles"), [(2, 800), (256, 1200)])
def test_exact_with_latency(count: int, cycles: int, seed: int) -> None:
    """Both sources at once, of one destination or of two; reads wait for neither."""
    rng = random.Random(seed)
    dut, golden = Destinations(count), Golden(count)
    used = rng.sample(range(count), 2)
    due: deque[tuple[int, dict[str, int]]] = deque()
    shown: dict[str, int] | None = None
    reads = 0

    async def bench(ctx: Any) -> None:
        nonlocal shown, reads
        busy = asking = 0.0
        for cycle in range(cycles):
            if cycle % 50 == 0:
                busy, asking = rng.choice([0.2, 0.8, 1.0]), rng.choice([0.02, 0.5])
            where, event = (rng.choice(used), rng.choice(used)), drawn(rng)
            stbs = [rng.random() < busy for _ in where]
            read, clear, asked = rng.random() < asking, rng.random() < 0.2, rng.choice(used)
            for name, stb, made in zip(
                ("timed", "heard"), stbs, payloads(rng, where, event), strict=True
            ):
                ctx.set(getattr(dut, f"{name}_stb"), stb)
                ctx.set(getattr(dut, name), made)
            ctx.set(dut.i_read.valid, read)
            ctx.set(dut.i_read.payload, {"destination": asked, "clear": clear})
            taken = read and not any(stbs)
            assert ctx.get(dut.i_read.ready) == (not any(stbs))
            ready = bool(due) and due[0][0] == cycle
            assert ctx.get(dut.read_done) == ready
            if ready:
                shown = due.popleft()[1]
                reads += 1
            if shown is not None:
                values = ctx.get(dut.values)
                assert {name: values[name] for name, _ in DESTINATION_FIELDS} == shown
            if taken:
                due.append((cycle + Destinations.READ_LATENCY, golden.read(asked, clear=clear)))
            if stbs[0]:
                golden.add(where[0], DestinationEvent(event.rtt, loss=event.loss))
            if stbs[1]:
                golden.add(where[1], DestinationEvent(mark=event.mark, score=event.score))
            await ctx.tick()

    run(dut, bench, cycles=cycles + 10)
    assert reads > 0


def test_latency() -> None:
    assert Destinations.READ_LATENCY == 4


@pytest.mark.parametrize("count", [0, 1, 100])
def test_configuration_error(count: int) -> None:
    with pytest.raises(ValueError, match=f"count must be a power of two, 2 or more, not {count}"):
        Destinations(count)
