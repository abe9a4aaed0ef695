"""Mutants that nobody can notice, and why: they do what the block does."""

__all__ = ["EXPLAINED", "explanation"]

#: By file, the line as it was and as it is.
EXPLAINED: dict[tuple[str, str, str], str] = {}


def explanation(file: str, old: str, new: str) -> str:
    """Why this mutant is none, or nothing."""
    return EXPLAINED.get((file, old, new), "")
