"""The page: one file, whole, and nothing on it that the data does not say."""

import re
from dataclasses import fields, is_dataclass, replace
from html.parser import HTMLParser
from itertools import count
from pathlib import Path
from typing import Any

import pytest

import precog_sim.report.page as page_module
from precog_sim.report.data import RESULT_FILE, DemoResult, Tables
from precog_sim.report.figures import Picture
from precog_sim.report.page import compose, load, render
from precog_sim.report.series import SERIES_FILE, Series
from precog_sim.report.terms import TERMS

# One worker draws the pictures, once.
pytestmark = pytest.mark.xdist_group("report")

VOID = {"meta", "link", "br", "img", "input", "hr"}


class Reader(HTMLParser):
    """Collects tags, attributes and text, and checks the nesting."""

    def __init__(self) -> None:
        super().__init__()
        self.stack: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.stack.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.stack, f"</{tag}> closes nothing"
        assert self.stack[-1] == tag, f"</{tag}> closes <{self.stack[-1]}> at {self.getpos()}"
        self.stack.pop()

    def handle_data(self, data: str) -> None:
        if not {"style", "script"} & set(self.stack):
            self.text.append(data)


def read(html: str) -> Reader:
    reader = Reader()
    reader.feed(html)
    assert not reader.stack
    return reader


@pytest.fixture(scope="session")
def html(result: DemoResult, series: Series, pictures: dict[str, Picture]) -> str:
    return compose(result, series, pictures)


def test_page_is_whole_and_small(html: str) -> None:
    reader = read(html)
    assert html.startswith("<!doctype html>")
    assert len(html.encode()) < 3_000_000
    assert "Undefined" not in html
    assert "None" not in "".join(reader.text)
    assert "nan" not in re.findall(r"\b\w+\b", html.lower())


def test_page_loads_nothing(html: str) -> None:
    for tag, attributes in read(html).tags:
        assert tag not in ("img", "iframe", "object", "embed", "source", "base")
        assert "src" not in attributes
        if tag != "a":
            href = attributes.get("href") or "#"
            assert href.startswith(("#", "data:,")), (tag, href)
    assert not re.search(r"@import|url\((?!#)|fetch\(|XMLHttp|https?:", html)


def test_page_is_accessible(html: str) -> None:
    reader = read(html)
    names = {a.get("id") for _, a in reader.tags}
    for tag, attributes in reader.tags:
        for reference in ("aria-labelledby",):
            if reference in attributes:
                assert attributes[reference] in names
        if tag == "svg":
            assert attributes.get("aria-hidden") == "true" or attributes.get("aria-label")
        if tag == "a" and (attributes.get("href") or "").startswith("#"):
            assert (attributes["href"] or "")[1:] in names
    figures = sum(tag == "figure" for tag, _ in reader.tags)
    assert figures == sum(tag == "figcaption" for tag, _ in reader.tags) >= 9
    tables = [a for tag, a in reader.tags if tag == "table"]
    assert all("aria-labelledby" in attributes for attributes in tables)
    assert html.count('class="scroll"') == len(tables)


def test_every_picture_is_on_the_page(html: str, pictures: dict[str, Picture]) -> None:
    for picture in pictures.values():
        assert html.count(f'aria-label="{picture.alt}"'.replace("'", "&#x27;")) == 2


# Shown in another form (durations, ranges) or only for machines.
NOT_SHOWN = {"schema", "seeds", "wall_s", "seconds", "n", "thesis", "versions", "model_card"}


def _marked(value: Any, numbers: "count[int]", made: dict[int, str], where: str) -> Any:
    """The same data with every shown number replaced by one of its own."""
    if is_dataclass(value) and not isinstance(value, type):
        changed = {
            f.name: _marked(getattr(value, f.name), numbers, made, f"{where}.{f.name}")
            for f in fields(value)
            if f.name not in NOT_SHOWN
        }
        return replace(value, **changed)
    if isinstance(value, dict):
        return {k: _marked(v, numbers, made, f"{where}.{k}") for k, v in value.items()}
    if isinstance(value, tuple):
        items = enumerate(value)
        return tuple(_marked(v, numbers, made, f"{where}[{i}]") for i, v in items)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    whole = next(numbers)
    made[whole] = where
    return whole if isinstance(value, int) else whole + 0.25


def test_every_figure_of_the_result_is_on_the_page(
    result: DemoResult, series: Series, pictures: dict[str, Picture]
) -> None:
    made: dict[int, str] = {}
    numbers = count(31_007, 13)
    tables = {
        name: _marked(getattr(result.tables, name), numbers, made, name)
        for name in ("table1", "table4", "table5", "figure19", "ns3", "table6")
    }
    rest = {
        name: _marked(getattr(result, name), numbers, made, name)
        for name in (
            "scenario",
            "paired",
            "rtl_vs_golden",
            "loop",
            "mape",
            "at_work",
            "simulator",
            "hardware",
            "tuned_gains",
        )
    }
    # Tables 4 and 5 are joined by their targets, and laws compared by their start rates.
    targets = [row.target_us for row in tables["table4"]]
    fives = zip(tables["table5"], targets, strict=True)
    tables["table5"] = tuple(replace(row, target_us=target) for row, target in fives)
    marked = replace(result, tables=replace(result.tables, **tables), **rest)
    text = " ".join(read(compose(marked, series, pictures)).text)
    shown = {int(n.replace(",", "")) for n in re.findall(r"\d[\d,]*", text)}
    # Of the rows only table 4's target and table 6's start rate are columns; sizes are in a table.
    optional = re.compile(
        r"(table5|table6|figure19|ns3)\[\d+\]\.target_us|(table4|table5|ns3|figure19)\[\d+\]\.start"
    )
    missing = [w for n, w in made.items() if n not in shown and not optional.match(w)]
    assert len(made) > 500
    assert not missing


def test_the_template_states_no_figure() -> None:
    template = "".join(
        (Path(page_module.__file__).parent / name).read_text(encoding="utf-8")
        for name in ("template.html.j2", "macros.html.j2", "card.html.j2")
    )
    text = re.sub(r"\{#.*?#\}|\{%.*?%\}|\{\{.*?\}\}", "", template, flags=re.S)
    text = re.sub(r"<[^>]*>", " ", text)
    allowed = (
        r"99 %|95 %|AR\(3\)|AXI4-Lite|LUT4|ns‑3|tables? 1|tables 4 and 5|table 6|figure 19"
        r"|equation \(13\)|equations \(21\) to \(26\)"
    )
    left = re.sub(allowed, "", text)
    assert re.findall(r".{0,30}\d.{0,30}", left) == []


def test_the_page_carries_its_data(html: str, result: DemoResult) -> None:
    found = re.search(r'<script type="application/json" id="result">(.*?)</script>', html, re.S)
    assert found
    assert DemoResult.from_json(found[1]) == result


def test_rows_of_figure_19_are_told_apart(html: str) -> None:
    table = html.split("What the predictor adds", 1)[1].split("</table>", 1)[0]
    groups = re.findall(r"<tbody>(.*?)</tbody>", table, re.S)
    assert [re.findall(r'<th scope="rowgroup"[^>]*>(.*?)</th>', group) for group in groups] == [
        ["Exact timing, jittered start, 20 seeds"],
        ["ns‑3’s timing, all at once, 20 seeds"],
    ]
    for group in groups:
        rows = re.findall(r'<th scope="row">(?:<i[^>]*></i>)?(.*?)</th>', group)
        assert rows == [
            "the measured RTT: PID", "the predicted RTT: LSTM + PID", "Change",
        ]  # fmt: skip


def test_the_error_at_work_stands_by_the_offline_one(
    result: DemoResult, series: Series, pictures: dict[str, Picture]
) -> None:
    heads = re.findall(r">([^<>]*)</th>", compose(result, series, pictures))
    assert heads.index("At work, balanced") - heads.index("As they come") == 1
    errors = result.at_work.as_they_come
    assert errors.persistence is not None
    weak = replace(errors, integer=0.95 * errors.persistence)
    page = compose(
        replace(result, at_work=replace(result.at_work, as_they_come=weak)), series, pictures
    )
    assert page.count("at work it barely beats persistence") == 2
    assert "At work the predictor is weak" in page
    assert "barely beats" not in compose(result, series, pictures)


def test_the_model_card_is_closed_and_plotted(html: str) -> None:
    card = html.split('<details class="card">', 1)[1].split("</details>", 1)[0]
    assert "open" not in card.split(">", 1)[0]
    assert card.count('class="bar"') == 3
    assert card.count('class="whiskers"') == 2
    assert "0, 1, 2, 3" not in card  # seeds, by the dozen


def test_every_table_can_be_sorted_saved_and_scrolled(html: str) -> None:
    tables = html.count("<table")
    assert html.count('class="scroller"') == tables
    assert all(f'"{name}"' in html for name in ("tools", "aria-sort", "text/csv"))


def test_every_heading_has_a_scope_and_tips_are_terms(html: str) -> None:
    tips = {a["data-tip"] for tag, a in read(html).tags if tag == "th" and "data-tip" in a}
    assert tips
    assert tips <= {term.text for term in TERMS.values()}


def test_without_synthesis_the_page_says_so(
    result: DemoResult, series: Series, pictures: dict[str, Picture]
) -> None:
    bare = replace(result, hardware=(), tuned_gains=None)
    text = " ".join(read(compose(bare, series, pictures)).text)
    assert "No synthesis figures exist for this tree." in text
    assert "MHz" not in text
    assert "Controller gains" not in text


def test_a_mismatch_is_not_hidden(
    result: DemoResult, series: Series, pictures: dict[str, Picture]
) -> None:
    bad = replace(result, rtl_vs_golden=replace(result.rtl_vs_golden, mismatches=3))
    page = compose(bad, series, pictures)
    assert 'class="failed"' in page
    assert 'class="failed"' not in compose(result, series, pictures).split("<header", 1)[0]


def test_markup_in_the_data_is_text(
    result: DemoResult, series: Series, pictures: dict[str, Picture]
) -> None:
    page = compose(replace(result, machine="<b onclick=x>"), series, pictures)
    assert "<b onclick" not in page
    assert "&lt;b onclick=x&gt;" in page


def test_without_tables_the_page_still_stands(
    result: DemoResult, series: Series, pictures: dict[str, Picture]
) -> None:
    read(compose(replace(result, tables=Tables((), (), (), (), (), ())), series, pictures))


def test_render_writes_the_page(
    result_dir: Path, pictures: dict[str, Picture], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page_module, "draw_all", lambda result, series: pictures)
    path = render(result_dir)
    assert path == result_dir / "report.html"
    assert read(path.read_text(encoding="utf-8")).tags


def test_missing_files_are_named(tmp_path: Path, result_dir: Path) -> None:
    empty = tmp_path / "empty"
    with pytest.raises(ValueError, match=r"empty/result\.json must exist; run `make demo`"):
        load(empty)
    (result_dir / SERIES_FILE).unlink()
    with pytest.raises(ValueError, match=r"series\.npz must exist; run `make demo`"):
        load(result_dir)


@pytest.mark.parametrize("name", [RESULT_FILE, SERIES_FILE])
@pytest.mark.parametrize("kept", [0, 100, 0.5, 0.98])
def test_truncated_files_are_named(result_dir: Path, name: str, kept: float) -> None:
    data = (result_dir / name).read_bytes()
    (result_dir / name).write_bytes(data[: int(kept if kept > 1 else kept * len(data))])
    with pytest.raises(ValueError, match=rf"{name} must be a whole result .* `make demo` again"):
        load(result_dir)


def test_files_of_different_runs_are_refused(result_dir: Path, result: DemoResult) -> None:
    sizes = result.scenario.sizes_mb[:-1]
    other = replace(result, scenario=replace(result.scenario, senders=19, sizes_mb=sizes))
    other.save(result_dir)
    with pytest.raises(ValueError, match="predpid must have one size and one FCT a flow"):
        load(result_dir)


def test_what_is_not_significant_is_said_so(
    result: DemoResult, series: Series, pictures: dict[str, Picture]
) -> None:
    def text(gap: float, ci95: float) -> str:
        last = result.paired.last_ms
        shown = replace(last, gap=replace(last.gap, mean=gap, ci95=ci95))
        page = compose(
            replace(result, paired=replace(result.paired, last_ms=shown)), series, pictures
        )
        return " ".join(" ".join(read(page).text).split())

    assert "The last flow’s gain is not significant." in text(-0.03, 0.05)
    assert "The last flow’s gain is significant." in text(-0.06, 0.05)
    assert "The last flow’s loss is significant." in text(0.06, 0.05)
