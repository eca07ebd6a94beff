"""HTML pages of tables, figures and charts, in one file without scripts and without references to other files."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from numbers import Integral, Real
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from naivete.display.charts import line_chart
from naivete.display.conditional_tables_html import conditional_table_html
from naivete.display.markup import COLORS, Markup, Number, bidi_isolated, element, escaped, figure, plain, shorten

__all__ = [
    "Prediction",
    "bars",
    "conditional_table_html",
    "confusion",
    "details",
    "figure",
    "line_chart",
    "model_title",
    "note",
    "page",
    "posterior_table",
    "table",
    "text",
]

POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
"""The content security policy of a page: inline styles and embedded images only."""
_CSS: Final = """
:root{color-scheme:light dark;--ink:#1c2430;--paper:#fff;--muted:#5a6573;--line:#dde2e8;--wash:#f5f7f9;
--nv-feature:#3b7dd8;--nv-class:#d9692a}
@media (prefers-color-scheme:dark){:root{--ink:#e4e8ee;--paper:#14181e;--muted:#9aa6b4;--line:#313842;--wash:#1c222a;
--nv-feature:#6ba3ee;--nv-class:#ee8d55}}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.6 system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',
Arial,sans-serif;-webkit-text-size-adjust:100%;print-color-adjust:exact;-webkit-print-color-adjust:exact}
main{max-width:1120px;margin:0 auto;padding:2.5rem clamp(1rem,4vw,2.5rem) 4rem}
h1{font-size:clamp(1.6rem,4vw,2.3rem);line-height:1.2;letter-spacing:-.015em;margin:0 0 .6rem}
h2{font-size:1.35rem;line-height:1.3;margin:2.6rem 0 .8rem;padding-top:1.2rem;border-top:1px solid var(--line)}
p,h1,h2,nav,caption,figcaption,summary,footer,.note{overflow-wrap:anywhere}
p{max-width:70ch;margin:.7rem 0}
a{color:var(--nv-feature);text-underline-offset:.2em}
nav ol{margin:1rem 0 0;padding:0;list-style:none;display:flex;flex-wrap:wrap;gap:.3rem 1.4rem;font-size:.95rem}
figure{margin:1.4rem 0;overflow-x:auto}
figure>svg{display:block;margin:0 auto;max-width:100%;height:auto}
figure>.chart{margin:0;min-width:520px}figure>.nv-net{min-width:min(760px,var(--own,760px))}
figure>.nv-outline{min-width:calc(.8*var(--own,760px))}
figcaption,caption{color:var(--muted);font-size:.9rem;text-align:left;padding:.5rem 0;max-width:80ch}
figcaption{position:sticky;left:0}caption{caption-side:bottom}
table{border-collapse:collapse;font-size:.93rem;line-height:1.35;font-variant-numeric:tabular-nums}
th,td{padding:.38rem .75rem;text-align:left;border-bottom:1px solid var(--line);vertical-align:middle}
th{font-weight:600}thead th{border-bottom:2px solid var(--line);vertical-align:bottom}
tbody th{font-weight:500}
.num{text-align:right;white-space:nowrap}.best{font-weight:700}.muted{color:var(--muted)}.pale{opacity:.5}
.name{display:inline-block;unicode-bidi:isolate;max-width:26rem;overflow-wrap:break-word}
.heat td{text-align:center;min-width:3.4rem;border:2px solid var(--paper);border-radius:6px}
.heat thead th{text-align:center;border:0}.heat tbody th{text-align:right;border:0}
.cpt th,.cpt td{white-space:nowrap;max-width:14rem;overflow:hidden;text-overflow:ellipsis}
.cpt thead th{text-align:center;border-bottom:1px solid var(--line)}
.cpt thead th:first-child{text-align:left}.cpt td{text-align:right}
.track{display:block;width:100%;min-width:9rem;height:.72rem;border-radius:3px;overflow:hidden;background:var(--wash);display:flex}
.track i{display:block;height:100%}
.key{display:inline-flex;align-items:center;gap:.4em;margin-right:1.1em;font-size:.9rem;unicode-bidi:isolate}
.key i{width:.8em;height:.8em;border-radius:3px;display:inline-block}
.case{min-width:10rem}.wrong{white-space:nowrap;color:var(--nv-class);font-weight:600}
.note{border-left:3px solid var(--nv-feature);background:var(--wash);padding:.7rem 1rem;
border-radius:0 6px 6px 0;max-width:74ch;margin:1rem 0}
details{margin:1rem 0;border:1px solid var(--line);border-radius:8px;padding:.2rem 1rem}
summary{cursor:pointer;font-weight:600;padding:.45rem 0}
.chart text{fill:currentColor;font-size:12px}.chart .axis{stroke:currentColor;stroke-opacity:.16}.chart .tick{opacity:.72}
footer{margin-top:3rem;color:var(--muted);font-size:.85rem}
@media (max-width:640px){body{font-size:15px}th,td{padding:.3rem .5rem}}
@media print{:root{--ink:#000;--paper:#fff;--muted:#444;--line:#bbb;--wash:#f3f3f3}body{font-size:10.5pt}
main{max-width:none;padding:0}
nav{display:none}figure,tr,.note{break-inside:avoid}h2{break-after:avoid}figure{overflow:visible}
figure>.nv-net,figure>.chart{min-width:0}}
"""


class Prediction(NamedTuple):
    """A classified case.

    Parameters
    ----------
    case : a description of the case.
    correct : its correct class, None where unknown.
    probabilities : the probability of every class.
    """

    case: object
    correct: object
    probabilities: Mapping[object, float]


def page(
    title: object,
    sections: Sequence[tuple[object, Sequence[object]]],
    *,
    facts: Mapping[str, object] | None = None,
    footer: object = None,
) -> Markup:
    """Return an HTML document: the title, a line of facts, a list of contents, and the sections.

    Parameters
    ----------
    title : the heading of the page, such as `model_title` returns.
    sections : the heading and the parts of every section; a part that is not `Markup` becomes a paragraph.
    facts : what the page is about, such as the file, the number of rows and the date; those that are None are left out.
    footer : the last line.

    >>> "<script>" in page("<script>", [("one", ["text"])])
    False
    """
    entries = [element("li", element("a", heading, href=f"#s{i}")) for i, (heading, _) in enumerate(sections, start=1)]
    known = [
        f"{name}: {fact:,.10g}" if isinstance(fact, Real) else f"{name}: {fact}"
        for name, fact in (facts or {}).items()
        if fact is not None
    ]
    about = [element("p", "; ".join(known), class_="muted")] if known else []
    contents = [element("nav", element("ol", *entries), aria_label="Contents")] if len(entries) > 1 else []
    parts = [_section(i, heading, body) for i, (heading, body) in enumerate(sections, start=1)]
    last = [] if footer is None else [element("footer", footer)]
    head = Markup(
        '<meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{escaped(POLICY)}">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        '<meta name="referrer" content="no-referrer">'
    )
    style = element("style", Markup(_CSS))
    body = element("main", element("header", element("h1", title), *about, *contents), *parts, *last)
    whole = element("html", element("head", head, element("title", title), style), element("body", body), lang="en")
    return Markup(f"<!doctype html>\n{whole}\n")


def model_title(model: str, target: object, parameters: str = "") -> str:
    """Return the title of a page about one model.

    Parameters
    ----------
    model : the name of the classifier.
    target : the name of the class.
    parameters : the parameters that differ from the defaults.

    >>> model_title("KDB", "play", "k=2"), model_title("NaiveBayes", "play")
    ('KDB (k=2) for `play`', 'NaiveBayes for `play`')
    """
    name = f"{model} ({parameters})" if parameters else model
    return f"{name} for `{bidi_isolated(plain(target))}`"


def _section(i: int, heading: object, parts: Iterable[object]) -> Markup:
    body = [part if isinstance(part, Markup) else text(part) for part in parts]
    return element("section", element("h2", heading), *body, id=f"s{i}")


def text(paragraph: object) -> Markup:
    """Return a paragraph."""
    return element("p", paragraph)


def note(*parts: object) -> Markup:
    """Return a highlighted remark."""
    return element("div", *parts, class_="note", role="note")


def details(summary: object, *body: object) -> Markup:
    """Return parts that are shown after a click on the summary."""
    return element("details", element("summary", summary), *(part if isinstance(part, Markup) else text(part) for part in body))


def table(
    headers: Sequence[object],
    rows: Iterable[Sequence[object]],
    *,
    highlight: Callable[[Iterable[float]], float] | None = None,
    caption: object = None,
    digits: int = 3,
) -> Markup:
    """Return a table: numbers aligned right, the best of each row in bold.

    Parameters
    ----------
    headers : the heading of every column.
    rows : the cells; a pair of numbers is a value and its deviation, None and NaN are shown as a dash.
    highlight : `max` or `min`, the function that selects the best number of each row.
    caption : a text below the table.
    digits : the number of decimals of numbers that are not integers.
    """
    body = [list(row) for row in rows]
    right = [bool(body) and all(_number(row[i]) is not None or row[i] is None for row in body) for i in range(len(headers))]
    head = [element("th", h, scope="col", class_="num" if r else None) for h, r in zip(headers, right, strict=True)]
    lines = [_row(row, right, highlight, digits) for row in body]
    return figure(element("table", element("thead", element("tr", *head)), element("tbody", *lines)), caption)


def _row(row: Sequence[object], right: Sequence[bool], highlight: Callable[[Iterable[float]], float] | None, digits: int) -> Markup:
    values = [_number(cell) if r else None for cell, r in zip(row, right, strict=True)]
    known = [v for v in values if v is not None and not math.isnan(v)]
    best = highlight(known) if highlight and known else None
    return element("tr", *(_cell(c, r, v is not None and v == best, digits) for c, r, v in zip(row, right, values, strict=True)))


def _cell(cell: object, right: bool, best: bool, digits: int) -> Markup:
    if right:
        return element("td", _shown(cell, digits), class_="num best" if best else "num")
    return element("td", cell if isinstance(cell, Markup) else element("span", _shown(cell, digits), class_="name"))


def _number(cell: object) -> float | None:
    """Return the number in a cell, without its deviation; None for a text."""
    first = cell[0] if isinstance(cell, tuple) and len(cell) == 2 else cell
    if isinstance(first, bool):
        return None
    return float(first) if isinstance(first, Real) else None


def _shown(cell: object, digits: int) -> str:
    """Return a cell as text.

    >>> _shown((0.25, 0.01), 3), _shown(1234, 3), _shown(None, 3)
    ('0.250 ± 0.010', '1,234', '–')
    """
    value = _number(cell)
    if cell is None or (value is not None and math.isnan(value)):
        return "\u2013"
    if isinstance(cell, tuple) and value is not None:
        return f"{value:.{digits}f} \u00b1 {cell[1]:.{digits}f}"
    return shorten(cell, 2400, 14, 400) if value is None else f"{cell:,}" if isinstance(cell, Integral) else f"{value:.{digits}f}"


def confusion(matrix: ArrayLike, labels: Sequence[object], caption: object = None) -> Markup:
    """Return the confusion matrix: a row for each true class, a column for each predicted class.

    Shades show the share of each cell in its row, so that a perfect classifier is dark only on the diagonal.
    """
    counts = np.asarray(matrix, dtype=float)  # (true, predicted)
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1e-300)
    top = element("tr", element("td"), element("th", "predicted class", colspan=len(labels), scope="colgroup"))
    corner = element("th", "true class", scope="col")
    names = element("tr", corner, *(element("th", bidi_isolated(shorten(c, 90, 14)), scope="col", title=plain(c)) for c in labels))
    rows = [_heat_row(i, label, counts[i], shares[i]) for i, label in enumerate(labels)]
    return figure(element("table", element("thead", top, names), element("tbody", *rows), class_="heat"), caption)


def _heat_row(i: int, label: object, counts: NDArray[np.float64], shares: NDArray[np.float64]) -> Markup:
    cells = [_heat(c, s, "feature" if i == j else "class") for j, (c, s) in enumerate(zip(counts, shares, strict=True))]
    return element("tr", element("th", bidi_isolated(shorten(label, 160, 14)), scope="row", title=plain(label)), *cells)


def _heat(count: float, share: float, color: str) -> Markup:
    shown = f"{count:,.0f}" if count == round(count) else f"{count:,.2f}"
    style = f"background:color-mix(in srgb,var(--nv-{color}) {round(6 + 60 * share) if count else 0}%,transparent)"
    return element("td", shown, style=style, class_=None if count else "muted", title=f"{share:.1%} of the row")


def bars(
    values: Mapping[object, Number],
    *,
    caption: object = None,
    maximum: float | None = None,
    digits: int = 3,
    pale: Collection[object] = (),
) -> Markup:
    """Return a horizontal bar for every value, from 0 to the largest or to `maximum`; those named in `pale` are drawn pale."""
    top = maximum or max((abs(v) for v in map(_number, values.values()) if v is not None), default=1.0) or 1.0
    rows = [
        element(
            "tr",
            element("th", element("span", name, class_="name"), scope="row"),
            element("td", _track([(max(0.0, _number(value) or 0.0) / top, "var(--nv-feature)", None)]), style="width:60%"),
            element("td", _shown(value, digits), class_="num"),
            class_="pale" if name in pale else None,
        )
        for name, value in values.items()
    ]
    return figure(element("table", element("tbody", *rows), style="width:100%;max-width:760px"), caption)


def _track(shares: Iterable[tuple[float, str, str | None]]) -> Markup:
    """Return a bar divided into shares, each with its color and its tooltip."""
    pieces = [element("i", style=f"width:{min(1.0, s):.2%};background:{color}", title=tooltip) for s, color, tooltip in shares]
    return element("span", *pieces, class_="track", aria_hidden="true")


def posterior_table(predictions: Sequence[Prediction], *, caption: object = None, top: int = 3) -> Markup:
    """Return a table of cases with their correct class, the predicted class, and all probabilities as one bar.

    Parameters
    ----------
    predictions : the classified cases.
    caption : a text below the table.
    top : the number of classes whose probabilities are also given as numbers.
    """
    classes = list(dict.fromkeys(c for prediction in predictions for c in prediction.probabilities))
    colors = {c: COLORS[i] if i < len(COLORS) else "var(--muted)" for i, c in enumerate(classes)}
    keys = [element("span", element("i", style=f"background:{colors[c]}"), shorten(c, 200, 14), class_="key") for c in classes[:8]]
    heads = [
        "case",
        "correct",
        "classified as",
        "probabilities",
        f"the {top} most probable" if len(classes) > top else "in numbers",
    ]
    head = element("thead", element("tr", *(element("th", element("span", h), scope="col") for h in heads)))
    body = element("tbody", *(_prediction_row(prediction, colors, top) for prediction in predictions))
    return figure(Markup(element("div", *keys) + element("table", head, body, style="width:100%")), caption)


def _prediction_row(prediction: Prediction, colors: Mapping[object, str], top: int) -> Markup:
    ranked = sorted(prediction.probabilities.items(), key=lambda item: -item[1])
    wrong = bool(ranked) and prediction.correct is not None and ranked[0][0] != prediction.correct
    shares = [(p, colors[c], f"{bidi_isolated(shorten(c, 200, 14))} {p:.3f}") for c, p in prediction.probabilities.items()]
    numbers = ", ".join(f"{bidi_isolated(shorten(c, 120, 14))}\u00a0{p:.3f}" for c, p in ranked[:top])
    predicted = shorten(ranked[0][0], 160, 14) if ranked else "\u2013"
    cells = [
        element("span", shorten(prediction.case, 4000, 14, 400), class_="name case"),
        "\u2013" if prediction.correct is None else shorten(prediction.correct, 160, 14),
        element("span", predicted, element("span", " \u2717 wrong" if wrong else Markup(""), class_="wrong")),
        _track(shares),
        numbers,
    ]
    return element("tr", *(element("td", cell, style="width:34%" if i == 3 else None) for i, cell in enumerate(cells)))
