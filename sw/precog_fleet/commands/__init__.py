"""The command group ``precog fleet``: one file a verb, registered here.

Modules of this folder import nothing heavy: the command line loads all of them for every command.
A verb imports its work inside of its function, within `precog_fleet.errors.needs`.
"""

import typer

from .agent import agent, router
from .dashboard import dashboard
from .demo import demo
from .enroll import enroll, join
from .init import init
from .learn import collect, evaluate, train
from .release import app as repository
from .release import release
from .rollout import rollback, rollout, trainer
from .status import status
from .trust import app as trust
from .up import up

__all__ = ["app"]

#: The entry point ``fleet`` of the group ``precog.cli``.
app = typer.Typer(
    help="A fleet of cards that learn together.", no_args_is_help=True, rich_markup_mode=None
)
app.command()(init)
app.command()(enroll)
app.command()(join)
app.command()(agent)
app.command()(router)
app.command()(up)
app.command()(demo)
app.command()(collect)
app.command()(train)
app.command()(evaluate)
app.command()(release)
app.command()(rollout)
app.command()(rollback)
app.command()(trainer)
app.command()(dashboard)
app.command()(status)
app.add_typer(trust, name="trust")
app.add_typer(repository, name="repository")
