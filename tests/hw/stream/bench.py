"""Drive and watch one stream at random."""

import random
from collections.abc import Callable, Sequence
from typing import Any

__all__ = ["drive", "receive"]


async def drive(ctx: Any, port: Any, values: Sequence[Any], busy: Callable[[], bool]) -> None:
    """Send `values`; before each, idle while `busy` says so."""
    for value in values:
        while not busy():
            await ctx.tick()
        ctx.set(port.payload, value)
        ctx.set(port.valid, 1)
        await ctx.tick().until(port.ready)
        ctx.set(port.valid, 0)


async def receive(
    ctx: Any, port: Any, count: int, ready: Callable[[], bool]
) -> list[tuple[int, int]]:
    """Take `count` payloads, (cycle, value) each; checks that an offer stays until it is taken."""
    taken: list[tuple[int, int]] = []
    cycle, offered = 0, None
    while len(taken) < count:
        accept = ready()
        ctx.set(port.ready, accept)
        _, _, valid, value = await ctx.tick().sample(port.valid, port.payload)
        if offered is not None:
            assert (valid, value) == (1, offered), "an offer must stay until it is taken"
        offered = value if valid and not accept else None
        if valid and accept:
            taken.append((cycle, value))
        cycle += 1
    ctx.set(port.ready, 0)
    return taken


def chance(rng: random.Random, probability: float) -> Callable[[], bool]:
    """A coin that shows True with `probability`."""
    return lambda: rng.random() < probability
