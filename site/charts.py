"""Charts: Altair declarations, rendered to SVG at build time, themed by the page's own style sheet.

Colours are `currentColor` and custom properties (`var(--accent)` …), so one SVG serves both themes. Ids
come from a hash of the declaration: vl-convert numbers them per process, and two builds must be equal.
No style attribute survives: the pages' Content-Security-Policy allows none.
"""

from __future__ import annotations

import functools
import hashlib
import json
import math
import re
from collections import Counter
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec

from kbstats.site import cache
from kbstats.site.text import visible
from markupsafe import Markup, escape

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

P = ParamSpec("P")

INK, NOTE, HAIR = "currentColor", "var(--note)", "var(--hair)"
CLAIMED, VERIFIED, REFUTED = "var(--claimed)", "var(--verified)", "var(--refuted)"

_CONFIG: dict[str, Any] = {
    "aria": False,  # the figure is described in words by its caption and its table
    "background": "transparent",
    "font": "system-ui, sans-serif",
    "view": {"stroke": None},
    "axis": {
        "labelColor": INK,
        "titleColor": INK,
        "titleFontWeight": "normal",
        "titleFontSize": 12,
        "labelFontSize": 12,
        "gridColor": HAIR,
        "domainColor": HAIR,
        "tickColor": HAIR,
        "labelLimit": 260,
    },
    "header": {"labelColor": INK, "labelFontSize": 12, "titleColor": NOTE, "labelLimit": 220},
    "legend": {
        "labelColor": INK,
        "titleColor": NOTE,
        "titleFontWeight": "normal",
        "labelFontSize": 12,
        "symbolStrokeWidth": 0,
    },
    "text": {"color": INK},
}

WIDTH = 400
"""Pixels of a chart's own area: with its axis no chart is wider than 460, so that its 12 px letters can still be
read where a phone shows it at four fifths."""

_ID = re.compile(r'(?<=\bid=")[^"]+(?=")|(?<=url\(#)[^)"]+(?=\))|(?<=href="#)[^"]+(?=")')


def _visible(x: Any) -> Any:
    if isinstance(x, str):
        return visible(x)
    if isinstance(x, dict):
        return {k: _visible(v) for k, v in x.items()}
    return [_visible(v) for v in x] if isinstance(x, list) else x


def _rendered(declared: str) -> str:
    """The renderer's SVG of a declaration; the renderer starts slowly, so what it drew once is kept."""
    renderer = version("vl-convert-python")
    kept = cache.get("chart", renderer, declared)
    if kept is not None:
        return kept.decode()
    import vl_convert

    text = str(vl_convert.vegalite_to_svg(json.loads(declared)))
    cache.put(text.encode(), "chart", renderer, declared)
    return text


def svg(chart: Any, label: str) -> Markup:
    """A chart as inline SVG.

    Args:
        chart: An Altair chart.
        label: What it shows, in words.
    """
    # A NUL in a name aborts the renderer, and the process with it: nothing hidden may reach it.
    spec = _visible(chart.to_dict())
    spec["config"] = _CONFIG
    declared = json.dumps(spec, sort_keys=True)
    text = _rendered(declared)
    mark = hashlib.sha256(declared.encode()).hexdigest()[:8]
    names: dict[str, str] = {}
    text = _ID.sub(lambda m: names.setdefault(m[0], f"c{mark}-{len(names)}"), text)
    text = re.sub(r'\s(?:style|aria-[a-z]+|role)="[^"]*"', "", text)
    text = re.sub(r"<\?xml[^>]*\?>|<!DOCTYPE[^>]*>", "", text)
    about = f'role="img" aria-labelledby="c{mark}-t"'
    text = re.sub(r"<svg ([^>]*)>", rf'<svg class="chart" {about} \1><title id="c{mark}-t">\0</title>', text, count=1)
    text = text.replace("\0", str(escape(label)), 1)
    return Markup(text)  # noqa: S704  vl-convert escapes what stands in text nodes


@functools.cache
def _made_by() -> str:
    """What a chart depends on besides its rows."""
    own = Path(__file__).read_text(encoding="utf-8")
    return f"{own}\0{version('altair')}\0{version('vl-convert-python')}"


def _kept(draw: Callable[P, Markup]) -> Callable[P, Markup]:
    """A chart that was drawn of the same rows before is taken from the cache: Altair itself takes half a second."""

    @functools.wraps(draw)
    def drawn(*args: P.args, **kwargs: P.kwargs) -> Markup:
        depends = draw.__name__, repr((args, kwargs)), _made_by()
        found = cache.get("figure", *depends)
        if found is not None:
            return Markup(found.decode())  # noqa: S704  as `svg` made it
        figure = draw(*args, **kwargs)
        cache.put(figure.encode(), "figure", *depends)
        return figure

    return drawn


def log_bins(values: Sequence[float], per_decade: int = 4) -> Counter[float]:
    """Counts by bin on a log10 axis; a bin's key is its lower edge in decades.

    >>> log_bins([1.0, 1.1, 100.0])
    Counter({0.0: 2, 2.0: 1})
    """
    return Counter(math.floor(math.log10(v) * per_decade + 1e-9) / per_decade for v in values if v > 0)


@_kept
def speedups(rows: Sequence[tuple[str, float, bool]], label: str, per_decade: int = 4) -> Markup:
    """Distribution of claimed speedups on a log axis, one band a model.

    Args:
        rows: (model, speedup, still counted after the audit), correct runs only.
        label: What it shows, in words.
        per_decade: Bins a factor of ten.
    """
    import altair as alt

    data: list[dict[str, Any]] = []
    models = list(dict.fromkeys(r[0] for r in rows))
    for model in models:
        base: Counter[float] = Counter()
        for kept, name in ((True, "counted"), (False, "withdrawn")):
            for edge, n in sorted(log_bins([s for m, s, k in rows if m == model and k is kept], per_decade).items()):
                below = base[edge]
                base[edge] += n
                data.append(
                    {
                        "model": model,
                        "lo": edge,
                        "hi": edge + 1 / per_decade,
                        "from": below,
                        "to": below + n,
                        "status": name,
                    }
                )
    lo = min(-1, math.floor(min(d["lo"] for d in data)))
    hi = max(1, math.ceil(max(d["hi"] for d in data)))
    scale = alt.Scale(domain=[lo, hi], nice=False)
    axis = alt.Axis(
        values=list(range(lo, hi + 1)),
        labelExpr="format(pow(10, datum.value), datum.value >= 3 ? ',.0f' : '~g') + '×'",
        title="claimed speedup (log scale)",
        grid=True,
    )
    rects = alt.Chart(alt.InlineData(values=data)).mark_rect(stroke="var(--ground)", strokeWidth=0.5)
    chart = rects.encode(
        x=alt.X("lo:Q", scale=scale, axis=axis),
        x2="hi:Q",
        y=alt.Y("from:Q", axis=None),
        y2="to:Q",
        color=alt.Color(
            "status:N",
            scale=alt.Scale(domain=["counted", "withdrawn"], range=[INK, CLAIMED]),
            legend=None,  # the caption says it: a legend's text is measured with another font than the reader's
        ),
    ).properties(width=WIDTH, height=44)
    return svg(
        chart.facet(
            row=alt.Row(
                "model:N",
                sort=models,
                title=None,
                header=alt.Header(labelOrient="top", labelAnchor="start", labelPadding=2),
            ),
            spacing=10,
        ),
        label,
    )


def _named(base: Any, y: Any, half: int) -> Any:
    """The names above their rows, `half` a mark's height away: beside them they would halve the chart on a phone."""
    import altair as alt

    return base.mark_text(align="left", baseline="bottom", dy=-half, color=INK, fontSize=12, limit=WIDTH).encode(
        y=y, x=alt.value(0), text="name:N"
    )


@_kept
def bars(rows: Sequence[tuple[str, str, int]], label: str, title: str) -> Markup:
    """Horizontal bars, longest first within the order given: (name, group, n)."""
    import altair as alt

    data = [{"name": n, "group": g, "n": k} for n, g, k in rows]
    groups = list(dict.fromkeys(g for _, g, _ in rows))
    tones = [INK, "var(--tone-2)", "var(--tone-3)", "var(--tone-4)", "var(--tone-5)", CLAIMED]
    plain = alt.Chart(alt.InlineData(values=data))
    y = alt.Y("name:N", sort=None, title=None, axis=None)
    base = plain.encode(y=y, x=alt.X("n:Q", title=title, axis=alt.Axis(tickMinStep=1, format="d", tickCount=6)))
    bar = base.mark_bar(height=9).encode(
        color=alt.Color(
            "group:N",
            scale=alt.Scale(domain=groups, range=tones[: len(groups)]),
            legend=alt.Legend(orient="top", title=None, columnPadding=30),
        )
    )
    text = base.mark_text(align="left", dx=4, color=INK, fontSize=12).encode(text="n:Q")
    return svg((bar + text + _named(plain, y, 5)).properties(width=WIDTH, height=alt.Step(32)), label)


@_kept
def pareto(rows: Sequence[dict[str, Any]], title: str, label: str) -> Markup:
    """Cost against score, the front in ink: `model, cost, score, front`."""
    import altair as alt

    base = alt.Chart(alt.InlineData(values=[{**r, "status": "front" if r["front"] else "other"} for r in rows]))
    x = alt.X(
        "cost:Q",
        title=f"{title} (log scale)",
        scale=alt.Scale(type="log", nice=True),
        axis=alt.Axis(tickCount=4, format="~s"),
    )
    y = alt.Y(
        "score:Q",
        title="right and faster, audited",
        scale=alt.Scale(domain=[0, 1]),
        axis=alt.Axis(format=".0%", tickCount=5),
    )
    colour = alt.Color("status:N", scale=alt.Scale(domain=["front", "other"], range=[INK, CLAIMED]), legend=None)
    line = base.transform_filter("datum.front").mark_line(interpolate="step-after", color=HAIR).encode(x=x, y=y)
    dots = base.mark_point(filled=True, size=50, opacity=1).encode(x=x, y=y, color=colour)
    names = (
        base.transform_filter("datum.front || datum.score > 0")
        .mark_text(align="left", dx=8, dy=-6, fontSize=12)
        .encode(x=x, y=y, text="model:N", color=colour)
    )
    return svg((line + dots + names).properties(width=WIDTH, height=180), label)


@_kept
def anytime(rows: Sequence[dict[str, Any]], label: str) -> Markup:
    """Share of runs with a right kernel after each turn: `turn, share, what`."""
    import altair as alt

    line = (
        alt.Chart(alt.InlineData(values=list(rows)))
        .mark_line(interpolate="step-after")
        .encode(
            x=alt.X("turn:Q", title="turns", axis=alt.Axis(tickMinStep=1, format="d", grid=False)),
            y=alt.Y(
                "share:Q",
                title="share of runs",
                scale=alt.Scale(domain=[0, 1]),
                axis=alt.Axis(format=".0%", tickCount=5),
            ),
            color=alt.Color(
                "what:N",
                scale=alt.Scale(domain=["compiles", "right"], range=["var(--tone-2)", INK]),
                legend=alt.Legend(orient="top", title=None, columnPadding=30, symbolStrokeWidth=2),
            ),
        )
    )
    return svg(line.properties(width=WIDTH, height=140), label)


@_kept
def pairs(rows: Sequence[dict[str, Any]], label: str) -> Markup:
    """Speedup of each timed pair in time order, one band a baseline: `baseline, pair, ratio, kept`."""
    import altair as alt

    base = alt.Chart(alt.InlineData(values=list(rows)))
    dots = base.mark_point(filled=True, size=26, opacity=1).encode(
        x=alt.X("pair:Q", title="pair, in order of time", axis=alt.Axis(tickMinStep=1, format="d", grid=False)),
        y=alt.Y("ratio:Q", title=None, scale=alt.Scale(zero=False), axis=alt.Axis(tickCount=4)),
        color=alt.Color(
            "status:N",
            scale=alt.Scale(domain=["kept", "dropped"], range=[INK, CLAIMED]),
            legend=alt.Legend(orient="top", title=None, columnPadding=30),
        ),
    )
    return svg(
        dots.properties(width=WIDTH, height=90)
        .facet(
            row=alt.Row(
                "baseline:N",
                title=None,
                header=alt.Header(labelOrient="top", labelAnchor="start"),
            ),
            spacing=14,
        )
        .resolve_scale(y="independent"),
        label,
    )


@_kept
def clocks(rows: Sequence[dict[str, Any]], label: str) -> Markup:
    """The GPU's clock during the pairs: `pair, clock_mhz`."""
    import altair as alt

    line = (
        alt.Chart(alt.InlineData(values=list(rows)))
        .mark_line(color=NOTE, strokeWidth=1, point={"size": 12, "color": NOTE})
        .encode(
            # Two or three pairs on a continuous axis would be labelled 0, 1, 1, 2, 2.
            x=alt.X("pair:O", title="pair, in order of time", axis=alt.Axis(labelAngle=0, grid=False)),
            y=alt.Y("clock_mhz:Q", title="SM clock, MHz", scale=alt.Scale(zero=False), axis=alt.Axis(tickCount=3)),
            detail="baseline:N",
        )
    )
    return svg(line.properties(width=WIDTH, height=60), label)


@_kept
def dumbbells(rows: Sequence[dict[str, Any]], label: str) -> Markup:
    """Claim and measurement of each kernel on a log axis: `name, claimed, measured, lo, hi, status`."""
    import altair as alt

    base = alt.Chart(alt.InlineData(values=[r for r in rows if r.get("measured") or r.get("claimed")]))
    y = alt.Y("name:N", sort=None, title=None, axis=None)
    known = [v for r in rows for v in (r.get(k) for k in ("claimed", "measured", "lo", "hi")) if v]
    low, high = min([0.5, *known]) / 1.15, max([2.0, *known]) * 1.15
    scale = alt.Scale(type="log", nice=False, domain=[low, high])
    steps = [m * 10**e for e in range(-4, 7) for m in (1, 3) if low <= m * 10**e <= high]
    # Beyond four decades the threes would stand on each other.
    ticks = steps if len(steps) <= 8 else [v for v in steps if math.log10(v).is_integer()]
    axis = alt.Axis(values=ticks, labelExpr="format(datum.value, datum.value >= 1000 ? ',.0f' : '~g') + '×'")
    x_title = "speedup (log scale)"
    timed = base.transform_filter("isValid(datum.measured)")
    said = base.transform_filter("isValid(datum.claimed)")
    rule = (
        timed.transform_filter("isValid(datum.claimed)")
        .mark_rule(color=HAIR)
        .encode(y=y, x=alt.X("claimed:Q", scale=scale, title=x_title, axis=axis), x2="measured:Q")
    )
    span = (
        timed.transform_filter("isValid(datum.lo) && isValid(datum.hi)")
        .mark_rule(strokeWidth=4)
        .encode(
            y=y,
            x=alt.X("lo:Q", scale=scale, title=x_title, axis=axis),
            x2="hi:Q",
            color=alt.Color(
                "status:N",
                scale=alt.Scale(domain=["confirmed", "refuted", "other"], range=[VERIFIED, REFUTED, INK]),
                legend=None,
            ),
        )
    )
    refused = alt.condition(
        "!isValid(datum.measured) && datum.status == 'refuted'", alt.value(REFUTED), alt.value(CLAIMED)
    )
    claim = said.mark_point(shape="circle", filled=False, size=60, strokeWidth=2).encode(
        y=y, x=alt.X("claimed:Q", scale=scale, title=x_title, axis=axis), color=refused
    )
    dot = timed.mark_point(filled=True, size=44, opacity=1).encode(
        y=y,
        x=alt.X("measured:Q", scale=scale, title=x_title, axis=axis),
        color=alt.Color(
            "status:N",
            scale=alt.Scale(domain=["confirmed", "refuted", "other"], range=[VERIFIED, REFUTED, INK]),
            legend=None,
        ),
    )
    drawn = rule + span + claim + dot + _named(base, y, 6)
    return svg(drawn.properties(width=WIDTH, height=alt.Step(34)), label)
