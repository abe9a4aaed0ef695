"""Ports of a component that are ports of a part of it."""

from collections.abc import Iterable

from amaranth.hdl import Module
from amaranth.lib import wiring

__all__ = ["pass_ports"]


def pass_ports(
    m: Module,
    outer: wiring.Component,
    inner: wiring.Component,
    names: Iterable[str],
    *,
    prefix: str = "",
) -> None:
    """Join signals of a component with those of a part.

    Parameters
    ----------
    m : Module
        Of `outer`.
    outer, inner : Component
        Whose signals are joined, each in the direction that `inner` has.
    names : iterable of str
        Members of `inner`.
    prefix : str
        With which they are members of `outer`.
    """
    for name in names:
        mine, its = getattr(outer, prefix + name), getattr(inner, name)
        inward = inner.signature.members[name].flow is wiring.In
        m.d.comb += its.eq(mine) if inward else mine.eq(its)
