"""The charts of a report: one Vega specification a kind, made by Altair, which the page fills with rows.

Colours are variables of the page's style sheet, so that light, dark and paper need no second drawing.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from sfumato.errors import MissingExtraError

if TYPE_CHECKING:
    import altair as alt

FONT = "ui-sans-serif, 'Helvetica Neue', Arial, 'Liberation Sans', sans-serif"
CHART_WIDTH = 300  # pixels
NO_EXTRA = "a report needs Altair and vl-convert: pip install 'sfumato[report]'"


@cache
def vega_bundle() -> str:
    """Vega, Vega-Lite and Vega-Embed as one script, which makes `vegaEmbed` known to the page.

    Raises:
        MissingExtraError: If the extra `report` is not installed.
    """
    try:
        import vl_convert
    except ImportError:
        raise MissingExtraError(NO_EXTRA) from None
    return str(vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")).replace("</script", r"<\/script")


@cache
def specifications() -> dict[str, Any]:
    """The specification of each kind of chart, without rows.

    Raises:
        MissingExtraError: If the extra `report` is not installed.
    """
    try:
        import altair  # noqa: F401
        import vl_convert
    except ImportError:
        raise MissingExtraError(NO_EXTRA) from None
    kinds = {
        "bars": _bars(),
        "dots": _dots(),
        "map": _map(),
        "pair": _pair(),
        "scatter": _scatter(),
        "power": _power(),
        "places": _places(),
    }
    return {kind: vl_convert.vegalite_to_vega(_finished(chart)) for kind, chart in kinds.items()}


def _finished(chart: Any) -> dict[str, Any]:
    """With the look that all charts share; the page sets the width."""
    spec: dict[str, Any] = chart.properties(width=CHART_WIDTH).to_dict()
    spec["autosize"] = {"type": "fit-x", "contains": "padding"}
    spec["config"] = {
        "aria": False,  # the figure around it has its words, and its table
        "background": "transparent",
        "font": FONT,
        "view": {"stroke": None},
        "axis": {
            "labelColor": "var(--ink)",
            "titleColor": "var(--quiet)",
            "titleFontWeight": "normal",
            "titleFontSize": 12,
            "labelFontSize": 12,
            "labelLimit": 190,
            "labelPadding": 6,
            "gridColor": "var(--line)",
            "domainColor": "var(--line)",
            "tickColor": "var(--line)",
        },
    }
    return spec


def _named(name: str) -> Any:
    import altair as alt

    return alt.Chart(alt.NamedData(name))


def _band(field: str, limit: int = 190) -> alt.Y:
    """Classes from top to bottom, in the order of the rows."""
    import altair as alt

    return alt.Y(f"{field}:N", sort=None, title=None, axis=alt.Axis(ticks=False, domain=False, labelLimit=limit))


def _slanted(field: str) -> alt.X:
    """Classes from left to right, in the order of the rows."""
    import altair as alt

    axis = alt.Axis(labelAngle=-55, ticks=False, domain=False, labelLimit=110)
    return alt.X(f"{field}:N", sort=None, title=None, axis=axis)


def _whiskers(chart: Any, y: Any, x: Any) -> Any:
    """The ends of intervals."""
    return chart.mark_rule(stroke="var(--ink)", strokeWidth=1.2).encode(
        y=y, x=x, x2="high:Q", tooltip=["class:N", "percent:Q", "low:Q", "high:Q"]
    )


def _bars() -> Any:
    import altair as alt

    rows, y = _named("rows"), _band("class")
    axis: dict[str, Any] = {"title": "percent of rows", "axis": alt.Axis(tickCount=5)}
    bars = rows.mark_bar(fill="var(--mark)", height=alt.RelativeBandSize(0.62)).encode(
        y=y,
        x=alt.X("percent:Q", **axis),
        fillOpacity=alt.condition("datum.lost", alt.value(0.3), alt.value(0.85)),
        tooltip=["class:N", "percent:Q", "low:Q", "high:Q"],
    )
    return alt.layer(bars, _whiskers(rows, y, alt.X("low:Q", **axis))).properties(height=alt.Step(19))


def _dots() -> Any:
    import altair as alt

    rows, y = _named("rows"), _band("class")
    axis: dict[str, Any] = {"title": "percent of the group", "axis": alt.Axis(tickCount=5)}
    axis["scale"] = alt.Scale(domain=[0, 100])
    overall = rows.mark_rule(stroke="var(--accent)", strokeDash=[3, 3]).encode(x=alt.X("mean(overall):Q", **axis))
    dots = rows.mark_point(filled=True, fill="var(--mark)", size=48, opacity=1).encode(
        y=y, x=alt.X("percent:Q", **axis), tooltip=["class:N", "percent:Q", "low:Q", "high:Q"]
    )
    return alt.layer(overall, _whiskers(rows, y, alt.X("low:Q", **axis)), dots).properties(height=alt.Step(19))


def _map() -> Any:
    import altair as alt

    rows = _named("rows")
    x, y = _slanted("one"), _band("other", 120)
    tooltip = ["one:N", "other:N", "association:Q", "rests on:N"]
    cells = rows.mark_rect(fill="var(--mark)", cursor="pointer").encode(
        x=x,
        y=y,
        fillOpacity=alt.FillOpacity("association:Q", legend=None, scale=alt.Scale(domain=[0, 1], range=[0.04, 1])),
        tooltip=tooltip,
    )
    seen = rows.transform_filter("datum.bought").mark_point(
        filled=True, size=5, fill="var(--accent)", opacity=0.8, cursor="pointer"
    )
    return alt.layer(cells, seen.encode(x=x, y=y, tooltip=tooltip)).properties(height=alt.Step(19))


def _pair() -> Any:
    import altair as alt

    rows = _named("rows")
    x, y = _slanted("other"), _band("one", 150)
    tooltip = ["one:N", "other:N", "value:Q", "low:Q", "high:Q"]
    cells = rows.mark_rect(fill="var(--mark)").encode(
        x=x,
        y=y,
        fillOpacity=alt.FillOpacity("value:Q", legend=None, scale=alt.Scale(range=[0.03, 1], domainMin=0)),
        tooltip=tooltip,
    )
    lost = rows.transform_filter("datum.lost").mark_text(text="×", fill="var(--quiet)", fontSize=11)
    return alt.layer(cells, lost.encode(x=x, y=y, tooltip=tooltip)).properties(height=alt.Step(21))


def _scatter() -> Any:
    import altair as alt

    return (
        _named("rows")
        .mark_point(filled=True, size=22, fill="var(--mark)", opacity=0.55)
        .encode(
            x=alt.X("x:Q", title="across", scale=alt.Scale(zero=False)),
            y=alt.Y("y:Q", title="down", scale=alt.Scale(zero=False)),
        )
        .properties(height=280)
    )


def _power() -> Any:
    import altair as alt

    rows = _named("rows")
    x = alt.X("alarms:Q", title="percent falsely accused", scale=alt.Scale(domain=[0, 100]))
    y = alt.Y("found:Q", title="percent found", scale=alt.Scale(domain=[0, 100]))
    line = rows.mark_line(stroke="var(--mark)", strokeWidth=2.2).encode(x=x, y=y)
    guess = rows.mark_line(stroke="var(--quiet)", strokeDash=[4, 4], strokeWidth=1).encode(x=x, y="alarms:Q")
    return alt.layer(guess, line).properties(height=240)


def _places() -> Any:
    import altair as alt

    return (
        _named("rows")
        .mark_rect(fill="var(--mark)")
        .encode(
            x=alt.X("column:O", axis=None),
            y=alt.Y("row:O", axis=None),
            fillOpacity=alt.FillOpacity("mean:Q", legend=None, scale=alt.Scale(range=[0, 1])),
            tooltip=["row:O", "column:O", "mean:Q"],
        )
        .properties(height=240)
    )
