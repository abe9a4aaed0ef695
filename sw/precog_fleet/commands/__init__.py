"""The command group ``precog fleet``: one file a verb, registered here.

Modules of this folder import nothing heavy: the command line loads all of them for every command.
A verb imports its work inside of its function, within `precog_fleet.errors.needs`.
"""

import typer

__all__ = ["app"]

#: The entry point ``fleet`` of the group ``precog.cli``.
app = typer.Typer(
    help="A fleet of cards that learn together.", no_args_is_help=True, rich_markup_mode=None
)
