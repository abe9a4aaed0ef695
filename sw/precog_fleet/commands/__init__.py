"""The command group ``precog fleet``: one file a verb, registered here.

Modules of this folder import nothing heavy: the command line loads all of them for every command.
A verb imports its work inside of its function, within `precog_fleet.errors.needs`.
"""

import typer

from .enroll import enroll, join
from .init import init
from .trust import app as trust

__all__ = ["app"]

#: The entry point ``fleet`` of the group ``precog.cli``.
app = typer.Typer(
    help="A fleet of cards that learn together.", no_args_is_help=True, rich_markup_mode=None
)
app.command()(init)
app.command()(enroll)
app.command()(join)
app.add_typer(trust, name="trust")
