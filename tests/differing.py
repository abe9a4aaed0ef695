"""What a test says when a block and its golden model differ."""

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["same"]

_INPUTS = 5  # that are shown


def same(
    block: str,
    got: Any,
    want: Any,
    *,
    at: str = "",
    inputs: Sequence[Any] = (),
    state: Mapping[str, Any] | None = None,
) -> None:
    """Compare one output of a block with the golden model's.

    Parameters
    ----------
    block : str
        The block and its output, as ``rate.o``.
    got, want : mapping, named tuple, sequence or number
    at : str
        When: ``decision 17``, ``cycle 812``.
    inputs : sequence
        What the block was given so far; the last ones are shown.
    state : mapping
        The golden model's state before this output.

    Raises
    ------
    AssertionError
        They differ: names the block, the fields with both values, when, inputs and state. The
        test's seed is in its output, and ``--seed`` repeats it.
    """
    __tracebackhide__ = True
    mine, golden = _fields(got), _fields(want)
    names = [*golden, *(name for name in mine if name not in golden)]
    wrong = [name for name in names if mine.get(name) != golden.get(name)]
    if not wrong:
        return
    lines = [f"{block} differs from the golden model{f' at {at}' if at else ''}:"]
    lines += [_difference(n or "value", mine.get(n), golden.get(n)) for n in wrong]
    right = [f"{n}={mine[n]}" for n in names if n not in wrong]
    if right:
        lines.append(f"  equal: {', '.join(right)}")
    first = max(0, len(inputs) - _INPUTS)
    lines += [f"  input {n}: {one}" for n, one in enumerate(inputs[first:], first)]
    lines += [f"  state {name}: {value}" for name, value in (state or {}).items()]
    lines.append("  waveforms: run this test again with --waves and the seed above")
    raise AssertionError("\n".join(lines))


def _difference(name: str, got: Any, want: Any) -> str:
    """Both values, and which bits of flags differ: each bit has a name."""
    line = f"  {name}: {got}, golden {want}"
    if name != "flags" or not (isinstance(got, int) and isinstance(want, int)):
        return line
    bits = [str(n) for n in range(max(got, want).bit_length()) if (got ^ want) >> n & 1]
    return f"{line} (bit {', '.join(bits)})"


def _fields(value: Any) -> dict[str, Any]:
    """A value's fields by name; a number is its only field."""
    if isinstance(value, Mapping):
        return dict(value)
    if hasattr(value, "_asdict"):
        return dict(value._asdict())
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return {f"[{n}]": one for n, one in enumerate(value)}
    return {"": value}
