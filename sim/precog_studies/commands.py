"""``precog study``: one command for each study; what stands behind its name goes to its `main`."""

from collections.abc import Callable
from importlib import import_module
from pkgutil import iter_modules

import typer

import precog_studies
from precog_host.output import group

__all__ = ["STUDIES", "app", "run"]

#: Packages of studies, by the command's name.
STUDIES = {
    module.name.replace("_", "-"): f"precog_studies.{module.name}"
    for module in iter_modules(precog_studies.__path__)
    if module.ispkg
}

app = group("Studies: experiments whose figures the documents state.")


def run(name: str, arguments: list[str]) -> int:
    """Run a study; its exit status."""
    return int(import_module(f"{STUDIES[name]}.__main__").main(arguments))


def _command(name: str) -> Callable[[typer.Context], None]:
    def command(context: typer.Context) -> None:
        raise typer.Exit(run(name, context.args))

    text = import_module(STUDIES[name]).__doc__ or ""
    command.__doc__ = text.removeprefix("Study: ").capitalize()
    return command


_PASSED_ON = {"ignore_unknown_options": True, "allow_extra_args": True}
for _name in STUDIES:
    # --help is the study's own, too.
    app.command(_name, add_help_option=False, context_settings=_PASSED_ON)(_command(_name))
