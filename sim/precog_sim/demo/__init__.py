"""The main job, end to end: ``make demo``."""
