"""``precog fleet dashboard``: what Grafana imports."""

import sys
from importlib import resources

__all__ = ["dashboard"]


def dashboard() -> None:
    """Print the fleet's Grafana dashboard, JSON to import."""
    place = resources.files("precog_fleet") / "data" / "dashboard.json"
    sys.stdout.write(place.read_text())
