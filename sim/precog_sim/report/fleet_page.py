"""The page of a fleet's demo."""

from pathlib import Path

from precog_models.durable import write_durably
from precog_sim.report.figures.fleet import draw_fleet, role_of
from precog_sim.report.fleet import MARKS, Fleet
from precog_sim.report.templates import rendered

__all__ = ["FLEET_FILE", "render_fleet"]

FLEET_FILE = "fleet.html"
TEMPLATE_FILE = "fleet.html.j2"


def render_fleet(path: Path) -> Path:
    """Write ``fleet.html`` into the folder of the demo's file.

    Returns
    -------
    Path
        The page.

    Raises
    ------
    OSError, ValueError
        As `Fleet.read`.
    """
    fleet = Fleet.read(path)
    names = {release: f"release {release}" for release in fleet.releases} | {0: "as shipped"}
    rtts = [rtt for spot in fleet.spots for rtt in spot.rtt_us]
    context = {
        "f": fleet,
        "fig": draw_fleet(fleet),
        "marks": MARKS,
        "releases": [(names[one], role_of(fleet, one), "area") for one in fleet.releases],
        "least": min(rtts, default=None),
        "most": max(rtts, default=None),
        "source": path.name,
    }
    page = path.with_name(FLEET_FILE)
    write_durably(page, rendered(TEMPLATE_FILE, context).encode())
    return page
