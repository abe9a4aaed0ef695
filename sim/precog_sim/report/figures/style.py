"""From a drawing function to a pair of inline SVGs that follow the page's colours and width.

matplotlib draws with stand-in colours; each becomes a CSS variable of the page, so one picture
serves light and dark. Every picture is drawn twice, for wide and for narrow screens, because text
in a scaled SVG shrinks with it. matplotlib is imported only when something is drawn.
"""

import html
import re
from collections.abc import Callable
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

__all__ = ["COLOURS", "NARROW_PX", "WIDE_PX", "Picture", "axes_grid", "picture", "save", "tip"]

WIDE_PX, NARROW_PX = 880, 350

# Role -> stand-in. The page gives each role its colour: template.html.j2, `--c-<role>`.
COLOURS: dict[str, str] = {
    role: f"#0{i:x}f1{i:02x}"
    for i, role in enumerate(
        (
            "ink",
            "muted",
            "grid",
            "band",
            "good",
            "bad",
            "predpid",
            "pid",
            "hpcc",
            "timely",
            "dctcp",
            "dcqcn",
            "elephant",
        )
    )
}

Draw = Callable[[Any, bool], None]


@dataclass(frozen=True)
class Picture:
    """One figure of the page: two SVG elements and the text that stands for them."""

    name: str
    alt: str
    wide: str
    narrow: str


def picture(name: str, alt: str, draw: Draw, *, wide_px: int, narrow_px: int) -> Picture:
    """Draw once for each width.

    Parameters
    ----------
    name : str
        Prefix of the picture's element ids, unique on the page.
    alt : str
        What the picture shows, for those who do not see it.
    draw : callable
        ``draw(figure, narrow)`` fills a matplotlib figure.
    wide_px, narrow_px : int
        Heights at the two widths.
    """
    wide = _svg(f"{name}-w", alt, draw, False, (WIDE_PX, wide_px))
    narrow = _svg(f"{name}-n", alt, draw, True, (NARROW_PX, narrow_px))
    return Picture(name, alt, wide, narrow)


def save(name: str, draw: Draw, path: Path, px: int) -> None:
    """Draw the wide form, `px` high, into an SVG file of its own, in the page's light colours."""
    text = _drawn(name, draw, False, (WIDE_PX, px))
    css = Path(__file__).parent.with_name("style.css").read_text(encoding="utf-8")
    for role, colour in COLOURS.items():
        found = re.search(rf"--c-{role}: (#\w+);", css)
        if found is None:
            raise ValueError(f"style.css must have a colour --c-{role}, not none")
        text = text.replace(colour, found[1])
    path.write_text("\n".join(line.rstrip() for line in text.splitlines()) + "\n")


def tip(text: str) -> str:
    """A matplotlib group id that becomes the tooltip of what it marks."""
    return f"tip {text}"


def axes_grid(
    figure: Any, rows: int, columns: int, *, heights: list[float] | None = None, **kwargs: Any
) -> Any:
    """A grid of axes in the house look, as a 2-D array."""
    axes = figure.subplots(
        rows, columns, squeeze=False, gridspec_kw={"height_ratios": heights}, **kwargs
    )
    for axis in axes.flat:
        axis.spines[["top", "right", "left"]].set_visible(False)
        axis.spines["bottom"].set_color(COLOURS["grid"])
        axis.grid(True, axis="y", color=COLOURS["grid"], linewidth=0.8)
        axis.set_axisbelow(True)
        axis.tick_params(which="both", length=0, colors=COLOURS["muted"])
    return axes


def _svg(name: str, alt: str, draw: Draw, narrow: bool, size: tuple[int, int]) -> str:
    return _inline(_drawn(name, draw, narrow, size), name, alt)


def _drawn(name: str, draw: Draw, narrow: bool, size: tuple[int, int]) -> str:
    """A standalone SVG document in stand-in colours."""
    import matplotlib
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    settings = {
        "svg.fonttype": "none",
        "svg.hashsalt": name,
        "font.size": 10.5 if narrow else 12,
        "font.family": "DejaVu Sans",  # ships with matplotlib: the same layout everywhere
        "text.color": COLOURS["ink"],
        "axes.labelcolor": COLOURS["muted"],
        "axes.titlecolor": COLOURS["ink"],
        "axes.titlelocation": "left",
        "axes.titlesize": 10.5 if narrow else 12,
        "axes.titleweight": "bold",
        "axes.titlepad": 8,
        "axes.labelsize": 10 if narrow else 11,
        "xtick.labelsize": 10 if narrow else 11,
        "ytick.labelsize": 10 if narrow else 11,
        "path.simplify_threshold": 0.3,
    }
    with matplotlib.rc_context(settings):
        figure = Figure(figsize=(size[0] / 72, size[1] / 72), dpi=72, layout="constrained")
        figure.patch.set_alpha(0)
        FigureCanvasSVG(figure)
        draw(figure, narrow)
        for axis in figure.axes:
            axis.patch.set_alpha(0)
        text = StringIO()
        figure.savefig(text, format="svg", metadata={"Date": None})
    return text.getvalue()


def _inline(svg: str, name: str, alt: str) -> str:
    """A standalone SVG document as an element for the page."""
    view = re.search(r'viewBox="([^"]+)"', svg)
    if view is None:
        raise ValueError("matplotlib's SVG must have a viewBox, not none")
    body = svg[svg.index(">", svg.index("<svg")) + 1 : svg.rindex("</svg>")]
    body = re.sub(r"<metadata>.*?</metadata>", "", body, flags=re.S)
    body = re.sub(r"<style.*?</style>", "", body, flags=re.S)  # it would style the whole page
    body = re.sub(r"<defs>\s*</defs>", "", body)
    body = re.sub(r"<!--.*?-->", "", body, flags=re.S)
    body = re.sub(r'<g id="patch_\d+">\s*<path [^>]*opacity: 0[^>]*/>\s*</g>', "", body)
    body = re.sub(r'id="(flow-\d+)[^"]*"', r'class="\1"', body)
    body = re.sub(r'id="tip ([^"]*)"', r'data-tip="\1"', body)
    used = set(re.findall(r'(?:url\(|href=")#([^")]+)', body))
    body = re.sub(r' id="([^"]+)"', lambda m: f' id="{name}-{m[1]}"' if m[1] in used else "", body)
    body = re.sub(r'(url\(|href=")#', rf"\1#{name}-", body).replace("xlink:href", "href")
    body = re.sub(r"<[^>]+>", _short, body)
    body = re.sub(r"font: ([\d.]+)px [^;\"]*", r"font-size: \1px", body)
    body = re.sub(
        r"font: (bold|\d+) ([\d.]+)px [^;\"]*", r"font-weight: 650; font-size: \2px", body
    )
    body = body.replace("font-family: 'DejaVu Sans'; ", "")
    for role, colour in COLOURS.items():
        body = body.replace(colour, f"var(--c-{role})")
    body = re.sub(r">\s+<", "><", body)
    label = html.escape(alt, quote=True)
    return f'<svg viewBox="{view[1]}" role="img" aria-label="{label}">{body.strip()}</svg>'


def _short(tag: re.Match[str]) -> str:
    """A tag with its coordinates cut to a tenth of a pixel, opacities to a hundredth."""
    text = re.sub(r"(opacity: \d?\.\d\d)\d+", r"\1", tag[0])
    return re.sub(r"(?<!opacity: 0)(?<!opacity: )(\b\d+\.\d)\d+", r"\1", text)
