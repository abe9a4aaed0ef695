"""Wire fields as hardware values: header bytes that stand next to each other in one value.

In a window byte n of the headers stands in bits 8n + 7 : 8n, as a stream delivers them. Offsets and
widths come from `precog_spec.frames`, so nothing here knows a header.
"""

from amaranth.hdl import Cat, Value

from precog_spec.frames.layout import Header

__all__ = ["field", "octets"]


def octets(window: Value, first: int, end: int) -> Value:
    """Bytes `first` to `end` - 1 of a window as one number, the first most significant.

    Raises
    ------
    ValueError
        They do not lie inside the window.
    """
    if not 0 <= first <= end <= len(window) // 8:
        raise ValueError(
            f"bytes must lie inside a window of {len(window) // 8} bytes, not be {first}..{end - 1}"
        )
    return Cat(window.word_select(n, 8) for n in reversed(range(first, end)))


def field(window: Value, header: Header, name: str, at: int = 0) -> Value:
    """A field of the header that begins at byte `at` of a window, as `Header.get` reads it.

    Raises
    ------
    ValueError
        The field does not lie inside the window.
    """
    found = header[name]
    word = octets(window, at + found.byte, at + found.end)
    return word[found.shift : found.shift + found.bits]
