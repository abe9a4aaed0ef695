"""``precog fleet dashboard``: what Grafana imports."""

import json
import sys
from importlib import resources

from precog_host.output import JsonOption, emit

__all__ = ["dashboard"]


def dashboard(json_: JsonOption = False) -> None:
    """Print the fleet's Grafana dashboard, JSON to import; -j prints it as one line."""
    text = (resources.files("precog_fleet") / "data" / "dashboard.json").read_text()
    emit(json.loads(text), lambda: print(text, end="", file=sys.stdout), json_)
