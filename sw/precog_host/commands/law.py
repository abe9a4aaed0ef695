"""``precog law``: rate laws as files, from their proof to a program for the law engine."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from precog_host.output import (
    JsonOption,
    emit,
    group,
    parameters_given,
    table,
    whole_numbers,
)

from . import law_slots

if TYPE_CHECKING:
    from precog_models.laws.compiler.compile import Compiled

__all__ = ["app"]

app = group("Rate laws: files that become programs of the law engine.")
app.command("load")(law_slots.load)
app.command("list")(law_slots.list_)
app.command("set")(law_slots.set_)
app.command("del")(law_slots.del_)

LawArgument = Annotated[str, typer.Argument(help="A law of Precog's, or a file that ends in .py.")]
PresetOption = Annotated[str, typer.Option("--preset", help="Parameters; see precog law show.")]
TickOption = Annotated[int, typer.Option(min=1, help="Length of a tick in picoseconds.")]
_LINES = 1 << 11


def _compiled(law: str) -> "Compiled":
    from precog_models.laws.compiler.compile import compile_law
    from precog_models.laws.compiler.load import load

    return compile_law(load(law))


@app.command("compile")
def compile_(
    law: LawArgument,
    output: Annotated[Path, typer.Option("-o", "--output", help="Program to write.")],
    json_: JsonOption = False,
) -> None:
    """Compile a law to a program of the law engine."""
    from precog_models.durable import check_target, write_durably
    from precog_models.rate.engine.image import image_name_of

    check_target(output)
    program = _compiled(law).program
    image_name_of(program.name)  # no device could load it
    write_durably(output, program.text().encode())
    record = {
        "path": str(output),
        "law": program.name,
        "instructions": len(program.code),
        "crc": f"{program.crc:#010x}",
        "turns": dict(program.turns),
    }
    emit(record, lambda: typer.echo(f"{output}: {len(program.code)} instructions"), json_)


@app.command()
def check(
    law: LawArgument,
    widths: Annotated[bool, typer.Option("--widths", help="Range of every result.")] = False,
    json_: JsonOption = False,
) -> None:
    """Prove that nothing in a law overflows; show its widths and its longest path in cycles."""
    from precog_models.laws.compiler.errors import placed
    from precog_spec.engine.isa import THREADS, WORD

    made = _compiled(law)
    program = made.program
    events: list[dict[str, Any]] = []
    for event, found in made.widths.items():
        widest = max(found, key=lambda one: one.range.bits, default=None)
        events.append(
            {
                "event": event,
                "bits": widest.range.bits if widest else 1,
                "at": (
                    placed(made.law.file, widest.file, widest.line, widest.text) if widest else ""
                ),
                "turns": program.turns[event],
                "cycles": program.turns[event] * THREADS,
            }
        )
    record: dict[str, Any] = {
        "law": program.name,
        "instructions": len(program.code),
        "word_bits": WORD,
        "state_bits": sum(one.format.width for one in made.law.state),
        "events": events,
    }
    lines = _width_lines(made) if widths else []
    if widths:
        record["widths"] = lines
    emit(record, lambda: _draw_check(record), json_)


def _width_lines(made: "Compiled") -> list[dict[str, Any]]:
    """A line for each construct of the file: those that are inlined several times are joined."""
    joined: dict[tuple[bool, str, int, str], Any] = {}
    for found in made.widths.values():
        for one in found:
            key = (one.file != made.law.file, one.file, one.line, one.text)
            joined[key] = joined[key].join(one.range) if key in joined else one.range
    return [
        {
            "file": Path(file).name,
            "line": line,
            "bits": held.bits,
            "range": str(held),
            "construct": text.strip("`"),
        }
        for (_, file, line, text), held in sorted(joined.items())
    ]


def _draw_check(record: dict[str, Any]) -> None:
    typer.echo(
        f"{record['law']}: {record['instructions']} instructions, {record['state_bits']} bits of "
        f"state, nothing beyond {record['word_bits']} bits"
    )
    events = record["events"]
    table(tuple(events[0]), [tuple(one.values()) for one in events])
    if "widths" in record:
        lines = record["widths"]
        table(tuple(lines[0]), [tuple(one.values()) for one in lines])


@app.command()
def show(
    law: Annotated[str | None, typer.Argument(help="All of Precog's laws by default.")] = None,
    code: Annotated[bool, typer.Option("--code", help="Its instructions, too.")] = False,
    json_: JsonOption = False,
) -> None:
    """Show a law: parameters, presets, state and instructions; or the laws that there are."""
    if law is None:
        rows = [_summary(name) for name in _names()]
        emit(rows, lambda: table(tuple(rows[0]), [tuple(row.values()) for row in rows]), json_)
        return
    from precog_models.rate.engine.assembler import listing

    made = _compiled(law)
    record: dict[str, Any] = {
        "law": made.law.name,
        "meaning": made.law.meaning,
        "windowed": made.law.windowed,
        "events": sorted(made.program.entries),
        "parameters": [
            {
                "name": one.name,
                "default": None if one.length else one.default,
                "unit": one.unit,
                "meaning": one.meaning,
            }
            for one in made.law.parameters
        ],
        "presets": {name: preset.citation for name, preset in made.law.presets.items()},
        "state": {one.name: one.meaning for one in made.law.state},
    }
    if code:
        record["code"] = listing(made.program.instructions(), made.program.notes)
    emit(record, lambda: _draw_law(record), json_)


def _names() -> list[str]:
    from precog_models.laws.compiler.load import law_names

    return law_names()


def _summary(name: str) -> dict[str, Any]:
    made = _compiled(name)
    return {
        "law": name,
        "instructions": len(made.program.code),
        "turns": max(made.program.turns.values()),
        "state_bits": sum(one.format.width for one in made.law.state),
        "meaning": made.law.meaning.partition("\n")[0],
    }


def _draw_law(record: dict[str, Any]) -> None:
    typer.echo(record["meaning"] + "\n")
    typer.echo(f"events: {', '.join(record['events'])}")
    rows = [tuple(one.values()) for one in record["parameters"]]
    table(("parameter", "default", "unit", "meaning"), rows)
    for kind in ("presets", "state"):
        table((kind, "meaning"), list(record[kind].items()))
    if "code" in record:
        typer.echo(record["code"], nl=False)


@app.command()
def trace(
    law: LawArgument,
    words: Annotated[
        list[str] | None,
        typer.Argument(help="Words of the event and of the state; s.rate=5 where both have it."),
    ] = None,
    event: Annotated[str, typer.Option(help="Kind of event.")] = "on_sample",
    preset: PresetOption = "default",
    tick_ps: TickOption = 1000,
    json_: JsonOption = False,
) -> None:
    """Run one event of a law in the engine's interpreter, and show every instruction."""
    from precog_models.rate.engine.assembler import disassemble
    from precog_models.rate.engine.core import Core, event_words
    from precog_spec.contract import Fmt
    from precog_spec.engine.events import EVENT_FIELDS, EVENTS, ROW_OUTPUTS
    from precog_spec.engine.isa import THREADS

    made = _compiled(law)
    if event not in made.program.entries:
        known = ", ".join(sorted(made.program.entries))
        raise ValueError(f"event must be one that {made.law.name} hears, {known}, not {event!r}")
    core = Core(made.program, made.law.integers(preset, tick_ps))
    taken = {name for name, _, _ in EVENT_FIELDS}
    fields = {
        f"s.{one.name}" if one.name in taken else one.name: one.format for one in made.law.state
    }
    names = [*(name for name, _ in ROW_OUTPUTS), *fields]
    given = whole_numbers(parameters_given(words or []))
    told = {name: value for name, value in given.items() if name not in fields}
    unknown = next((name for name in told if name not in taken), None)
    if unknown is not None:
        known = ", ".join(sorted(taken - {"kind"} | fields.keys()))
        raise ValueError(f"word must be one of {known}, not {unknown!r}")
    if "kind" in told:
        raise ValueError("word kind must be left out: --event says it")
    for name in given.keys() & fields.keys():
        form = fields[name]
        if not form.min <= given[name] <= form.max:
            raise ValueError(f"{name} must be in {form.min}..{form.max}, not {given[name]}")
        core.rows[0, names.index(name)] = given[name]
    told.setdefault("max_rate", Fmt.RATE.max)
    heard = event_words(EVENTS.index(event), **told)
    code = made.program.instructions()
    lines = []
    for place, result, turns in core.event(0, heard, lines=_LINES).tolist():
        lines.append(
            {
                "cycle": turns * THREADS,
                "address": place,
                "instruction": disassemble(code[place], place),
                "result": result,
                "source": made.program.notes.get(place, ""),
            }
        )
    after = dict(zip(names, core.rows[0].tolist(), strict=False))
    record = {"law": made.law.name, "event": event, "lines": lines, "row": after}
    emit(record, lambda: _draw_trace(record), json_)


def _draw_trace(record: dict[str, Any]) -> None:
    lines = record["lines"]
    table(tuple(lines[0]), [tuple(one.values()) for one in lines])
    table(("word", "after"), list(record["row"].items()))
