"""The report of ``make demo``: what was measured, as data, and one self-contained page of it."""
