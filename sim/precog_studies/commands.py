"""``precog study``: one command for each study; what stands behind its name goes to its `main`."""

from collections.abc import Callable
from importlib import import_module

import typer

from precog_host.output import group

__all__ = ["STUDIES", "app", "run"]

#: Studies by name, each a package of `precog_studies`.
STUDIES: dict[str, str] = {
    "fabric-speed": "The network simulator against hosts, senders and ns-3; collectives.",
    "figure20": "The thesis' figure 20: ordinary flows beside incasts on 320 hosts.",
    "fleet-scale": "Traffic, convergence and memory of 10,000 cards.",
    "laws": "lockstep against HPCC, Swift and θ-PowerTCP, goal by goal.",
    "rivals": "Laws of other authors from two flows to a fat tree.",
    "sharing": "What shared statistics are worth to new flows.",
}

app = group("Studies: experiments whose figures the documents state.")


def run(name: str, arguments: list[str]) -> int:
    """Run a study; its exit status."""
    module = import_module(f"precog_studies.{name.replace('-', '_')}.__main__")
    return int(module.main(arguments))


def _command(name: str) -> Callable[[typer.Context], None]:
    def command(context: typer.Context) -> None:
        raise typer.Exit(run(name, context.args))

    return command


_PASSED_ON = {"ignore_unknown_options": True, "allow_extra_args": True}
for _name, _help in STUDIES.items():
    # --help is the study's own, too.
    app.command(_name, help=_help, add_help_option=False, context_settings=_PASSED_ON)(
        _command(_name)
    )
