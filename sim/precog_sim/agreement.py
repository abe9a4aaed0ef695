"""Whether RTL and golden NIC decided alike in runs that both decided, said on the console."""

from collections.abc import Sequence

from rich.console import Console

from precog_sim.loop import Comparison

__all__ = ["tell_agreement"]


def tell_agreement(console: Console, agreed: Sequence[tuple[object, Comparison]]) -> bool:
    """Say which runs differ and how many decisions were compared.

    Parameters
    ----------
    console : Console
    agreed : sequence of (object, Comparison)
        What each run is called, and how it compared; none: nothing is said.

    Returns
    -------
    bool
        No run differs.
    """
    different = [(name, same) for name, same in agreed if same.mismatches]
    for name, same in different:
        console.print(f"RTL differs from golden: {name}: {same.mismatches}, {same.first}")
    if agreed:
        decisions = sum(same.decisions for _, same in agreed)
        console.print(
            f"RTL = golden: {len(different)} of {len(agreed)} runs differ, {decisions:,} decisions"
        )
    return not different
