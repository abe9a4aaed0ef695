"""A fleet of cards that learn together: telemetry, training, releases, gossip of statistics.

Everything here needs the extra `fleet`; beyond one machine, training needs `ray`, too.
"""
