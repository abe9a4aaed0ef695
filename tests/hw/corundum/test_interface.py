"""The declaration against a list of facts, one line for each parameter and port of Corundum's."""

import csv
import re
from pathlib import Path

import pytest

from precog_hw.corundum.interface import APP_ID, PARAMETERS, PORTS
from precog_hw.corundum.wrapper import app_block

FACTS = Path(__file__).with_name("facts.csv")


def facts() -> list[dict[str, str]]:
    with FACTS.open(newline="") as file:
        return list(csv.DictReader(file))


def text() -> str:
    return app_block([64, 512], nics=1, address_bits=16, tick_ps=4000, app_id=APP_ID)


def test_every_parameter_has_its_default() -> None:
    expected = {row["name"]: row["default"] for row in facts() if row["kind"] == "parameter"}
    assert len(expected) == 105
    assert list(PARAMETERS.items()) == list(expected.items())


def test_every_port_has_its_direction_and_range() -> None:
    expected = [(r["kind"], r["name"], r["range"]) for r in facts() if r["kind"] != "parameter"]
    assert len(expected) == 336
    found = [("input" if port.inward else "output", port.name, port.range) for port in PORTS]
    assert found == expected


def test_the_verilog_declares_what_the_table_says() -> None:
    head = text()[: text().index("\n);")]
    declared = re.findall(r"^    parameter (\w+) = (.+?),?$", head, re.M)
    assert declared == list(PARAMETERS.items())
    ports = re.findall(r"^    (input|output) +wire (?:\[(.+)\] )?(\w+),?$", head, re.M)
    assert [(kind, name, span) for kind, span, name in ports] == [
        (row["kind"], row["name"], row["range"]) for row in facts() if row["kind"] != "parameter"
    ]


@pytest.mark.parametrize("app_id", [APP_ID, 0x43500001])
def test_the_application_insists_on_its_number(app_id: int) -> None:
    made = app_block([64], nics=1, address_bits=16, tick_ps=4000, app_id=app_id)
    assert made.count(f"APP_ID = 32'h{app_id:08x}") == 1
    assert f"APP_ID == 32'h{app_id:08x}" in made
