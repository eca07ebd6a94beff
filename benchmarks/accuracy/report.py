"""The comparison as tables, in plain text or Markdown, and as a critical-difference diagram."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from benchmarks import report as plain
from benchmarks.accuracy import sets
from benchmarks.accuracy.contenders import is_peer
from benchmarks.accuracy.results import Results, Setting
from benchmarks.accuracy.summary import BEHIND, REFERENCE, Summary
from naivete.evaluation.diagram import critical_difference_diagram

Table = Callable[[str, Sequence[str], Iterable[Sequence[str]]], str]
WORST: Final = 12
"""How many of the sets with the largest losses are listed."""
KINDS: Final = {"nominal": sets.NOMINAL, "mixed": sets.MIXED, "all": sets.ALL}
HALVES: Final = {"": sets.ALL, "choosing: ": sets.CHOOSING, "confirming: ": sets.CONFIRMING}


def markdown_table(title: str, heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown.

    >>> print(markdown_table("Sizes", ["what", "rows"], [["small", "10"]]))
    **Sizes**
    <BLANKLINE>
    | what | rows |
    | :-- | --: |
    | small | 10 |
    """
    lines = [heads, [":--", *["--:"] * (len(heads) - 1)], *rows]
    return "\n".join([f"**{title}**", "", *(f"| {' | '.join(line)} |" for line in lines)])


def report(results: Results, summary: Summary, main: str | None, *, markdown: bool = False, wall: bool = False) -> str:
    """Return all tables as text.

    Parameters
    ----------
    results : the results file, for dates, versions and failures.
    summary : the scores.
    main : the contender that is compared with each other one; None for none.
    markdown : whether the tables are in Markdown.
    wall : whether times are those on the clock instead of CPU times.
    """
    table = markdown_table if markdown else plain.table
    common = summary.common()
    parts = [heading(results, summary, common), means(common, table), ranks(common, table), costs(summary, table, wall)]
    if main is not None:
        parts += [duels(summary, main, table), worst(summary, main, table)]
    return "\n\n".join(filter(None, [*parts, failures(results, summary)]))


def heading(results: Results, summary: Summary, common: Summary) -> str:
    """Return the date, the setting, the versions, and which contenders and sets the means refer to."""
    records = [record for s in summary.sets for c in summary.contenders for record in results.complete(s, c)]
    dates = sorted({record["date"] for record in records})
    versions: dict[str, set[str]] = {}
    for record in records:
        for package, version in record["versions"].items():
            versions.setdefault(package, set()).add(version)
    listed = ", ".join(f"{package} {' and '.join(sorted(found))}" for package, found in versions.items() if any(found))
    partial = [f"{name} ({count})" for name, count in summary.counts.items() if name not in common.contenders]
    lines = [
        f"{' to '.join(dict.fromkeys([*dates[:1], *dates[-1:]]))}, {setting_text(results.setting)}; {listed}.",
        f"Means and ranks are over the {len(common.sets)} of {len(summary.sets)} sets on which all contenders listed there ended.",
        f"Contenders without results for most sets, with their number of sets: {', '.join(partial)}." if partial else "",
    ]
    return "\n".join(filter(None, lines))


def setting_text(setting: Setting) -> str:
    """Return the setting in words."""
    return f"{setting.folds} stratified folds, at most {setting.rows:,} rows of a set"


def groups(common: Summary) -> dict[str, Summary]:
    """Return the results of nominal, mixed and all sets, of both halves together and of each."""
    names = {f"{half}{kind}": set(members) & set(kinds) for half, members in HALVES.items() for kind, kinds in KINDS.items()}
    return {head: common.select(list(chosen)) for head, chosen in names.items()}


def means(common: Summary, table: Table) -> str:
    """Return the table of the mean log losses and errors."""
    chosen = groups(common)
    heads = ["", *(f"{head} {len(part.sets)}" for head, part in chosen.items())]
    losses, errors = ([part.means(measure) for part in chosen.values()] for measure in ("log_loss", "error"))
    rows = [
        [name, *(f"{_short(a[name])} / {_short(b[name])}" for a, b in zip(losses, errors, strict=True))]
        for name in common.contenders
    ]
    return table("Mean log loss (nats) / error", heads, rows)


def ranks(common: Summary, table: Table) -> str:
    """Return the table of the mean ranks."""
    if common.ranks("log_loss") is None:
        return ""
    chosen = {head: part for head, part in groups(common).items() if len(part.sets) >= 2}
    tests = {kind: [part.ranks(measure) for measure in ("log_loss", "error")] for kind, part in chosen.items()}
    heads = ["", *(f"{kind} {len(part.sets)}" for kind, part in chosen.items())]
    rows = [
        [name, *(" / ".join(f"{test.ranks[i]:.1f}" for test in pair if test) for pair in tests.values())]
        for i, name in enumerate(common.contenders)
    ]
    differences = [" / ".join(f"{test.critical_difference:.1f}" for test in pair if test) for pair in tests.values()]
    return table("Mean rank on log loss / error (1 is best)", heads, [*rows, ["critical difference", *differences]])


def costs(summary: Summary, table: Table, wall: bool = False) -> str:
    """Return the table of calibration, losses to the best peer, times and memory by contender, each over its own sets."""
    unit, clock = ("s", "time") if wall else ("cpu_s", "CPU time")
    rows = []
    for name in (name for name, count in summary.counts.items() if count):
        own = summary.select([s for s, loss in zip(summary.sets, summary.column("log_loss", name), strict=True) if loss == loss])
        rows.append(
            [
                name,
                str(len(own.sets)),
                _short(own.means("brier")[name]),
                f"{own.column('zeros', name).sum():,.0f}",
                str(len(own.losses(name))),
                *(_ratio(own.time_ratio(name, f"{what}_{unit}")) for what in ("fit", "predict")),
                f"{own.column('fit_bytes', name).max() / 2**20:,.0f}",
            ]
        )
    behind = f"sets over {BEHIND:.0%} behind best peer"
    heads = ["", "sets", "Brier", "zeros", behind, f"fit / {REFERENCE}", f"predict / {REFERENCE}", "peak MiB"]
    return table(f"Calibration, {clock} (geometric mean of the ratios) and memory", heads, rows)


def duels(summary: Summary, main: str, table: Table) -> str:
    """Return the table of wins, draws and losses of one contender against each other one."""
    losses, errors = (summary.records(main, measure) for measure in ("log_loss", "error"))
    rows = [[name, str(losses[name]), _p(losses[name].p), str(errors[name]), _p(errors[name].p)] for name in losses]
    heads = ["", "log loss", "p (Wilcoxon, Holm)", "error", "p (Wilcoxon, Holm)"]
    return table(f"Wins-draws-losses of {main} (draw: log loss within 1 %, equal error)", heads, rows) if rows else ""


def worst(summary: Summary, main: str, table: Table) -> str:
    """Return the table of the sets on which a contender is furthest behind the best peer."""
    losses = summary.losses(main)
    rows = [[loss.data_set, _short(loss.loss), loss.best, _short(loss.best_loss)] for loss in losses[:WORST]]
    heads = ["", "log loss", "best peer", "its log loss"]
    return table(f"Where {main} loses most ({len(losses)} sets over {BEHIND:.0%} behind)", heads, rows) if rows else ""


def failures(results: Results, summary: Summary) -> str:
    """Return the contenders that did not end on a set, with the reason."""
    reasons: dict[tuple[str, str], list[str]] = {}
    for (data_set, contender), record in results.failures.items():
        if data_set in summary.sets and contender in summary.contenders and not results.complete(data_set, contender):
            reasons.setdefault((contender, record["failed"]), []).append(data_set)
    lines = [f"{contender}: {reason}: {', '.join(names)}" for (contender, reason), names in reasons.items()]
    return "\n".join(["Not ended:", "", *(f"- {line}" for line in lines)]) if lines else ""


def diagram(summary: Summary, measure: str = "log_loss") -> str:
    """Return the critical-difference diagram of the mean ranks as SVG; empty for fewer than two sets or contenders."""
    common = summary.common()
    test = common.ranks(measure)
    title = f"{measure.replace('_', ' ').capitalize()} on {len(common.sets)} data sets"
    return "" if test is None else str(critical_difference_diagram(test, common.contenders, title=title))


def default_main(summary: Summary) -> str | None:
    """Return the contender of naivete with the smallest mean log loss on the common sets; None if there is none."""
    ours = {name: loss for name, loss in summary.common().means("log_loss").items() if not is_peer(name)}
    return min(ours, key=ours.__getitem__) if ours else None


def _short(value: Any) -> str:
    """Return a number with three decimals, without the leading zero.

    >>> _short(0.3094), _short(1.25), _short(float("nan"))
    ('.309', '1.250', '-')
    """
    return "-" if math.isnan(value) else f"{value:.3f}".removeprefix("0") if value < 1 else f"{value:.3f}"


def _ratio(value: float | None) -> str:
    return "-" if value is None else f"{value:.2g}"


def _p(value: float) -> str:
    return "<.0001" if value < 1e-4 else _short(value) if value >= 0.001 else f"{value:.4f}".removeprefix("0")
