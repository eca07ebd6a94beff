"""The tables that are printed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from benchmarks import demands
from benchmarks.contenders import NAMES, OURS
from benchmarks.demands import Verdict

Record = dict[str, Any]

BUSY = 0.5


def table(title: str, heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table as plain text, the first column aligned to the left, the others to the right.

    >>> print(table("Sizes", ["what", "rows"], [["small", "10"], ["large", "10,000"]]))
    Sizes
      what     rows
      small      10
      large  10,000
    """
    lines = [list(heads), *([*row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    texts = [
        "  ".join(cell.ljust(w) if i == 0 else cell.rjust(w) for i, (cell, w) in enumerate(zip(line, widths, strict=True))).rstrip()
        for line in lines
    ]
    return "\n".join([title, *(f"  {text}" for text in texts)])


def shown(number: float | None, digits: int = 3) -> str:
    """Return a number with three significant digits, without an exponent."""
    if number is None:
        return "-"
    if number >= 10 ** (digits - 1):
        return f"{number:,.0f}"
    return f"{number:.{digits}g}" if number >= 1e-4 else f"{number:.6f}".rstrip("0").rstrip(".")


def whole(results: Record) -> str:
    """Return all tables as text."""
    by_workload: dict[str, list[Record]] = {}
    for record in results["classify"]:
        by_workload.setdefault(record["workload"], []).append(record)
    parts = [
        machine(results["machine"]),
        *(classifiers(name, records) for name, records in by_workload.items()),
        ratios(results["classify"]),
        pairs(results["pairs"]),
        growth(results["growth"]),
        cold(results["cold"]),
    ]
    return "\n\n".join(part for part in parts if part)


def machine(facts: Record) -> str:
    text = table("Machine", ["what", "value"], [[key, str(value)] for key, value in facts.items()])
    busy = facts["load of others"] > BUSY
    return text + ("\n  The machine was busy before the benchmarks started: the ratios are not reliable." if busy else "")


def classifiers(workload: str, records: Sequence[Record]) -> str:
    about = next((f", {r['rows']:,} rows" for r in records if "rows" in r), "")
    heads = ["", "fit s", "first s", "fit MiB", "warm MiB", "passes", "predict rows/s", "accuracy", "log loss", "note"]
    return table(workload + about, heads, map(_line, records))


def _line(r: Record) -> list[str]:
    name = " ".join(filter(None, [r["library"], NAMES.get((r["library"], r["model"]), r["model"]), r["tier"]]))
    if "failed" in r:
        return [name, *["-"] * 8, r["failed"]]
    part = r["fitted_rows"] / r["rows"]
    mib = [None if r.get(key) is None else r[key] / 2**20 for key in ("fit_bytes", "warm_fit_bytes")]
    return [
        name,
        shown(r["fit_s"]),
        shown(r.get("first_fit_s")),
        *map(shown, mib),
        shown(r.get("passes")),
        shown(r["predicted_rows"] / r["predict_s"]),
        f"{r['accuracy']:.4f}",
        f"{r['log_loss']:.4f}" if "log_loss" in r else "-",
        "" if part == 1 else f"fitted on {r['fitted_rows']:,} rows",
    ]


def ratios(records: Sequence[Record]) -> str:
    if not any(r["library"] == OURS for r in records):
        return ""
    heads = ["naivete / peer", "workload", "kernels", "times as fast", "at least", "verdict"]
    speed = _verdicts("How many times as fast naivete is, per row", heads, demands.speed(records))
    heads = ["", "workload", "kernels", "measured", "at most", "verdict"]
    memory = _verdicts("Peak memory of the first fit in a process", heads, demands.memory(records))
    return "\n\n".join(filter(None, [speed, memory]))


def _verdicts(title: str, heads: Sequence[str], verdicts: Iterable[Verdict], show: Callable[[float | None], str] = shown) -> str:
    rows = [[v.what, v.workload, v.tier, show(v.measured), show(v.demanded), v.outcome] for v in verdicts]
    return table(title, heads, rows) if rows else ""


def pairs(records: Sequence[Record]) -> str:
    if not records:
        return ""
    tiers = [tier for tier in ("c", "numpy") if tier in records[0]]
    heads = ["", *(f"{tier}, {what}" for tier in tiers for what in ("kernels s", "tables s")), "limit s"]
    rows = []
    for r in records:
        ours = [shown(r[tier].get(key)) for tier in tiers for key in ("kernels_s", "tables_s")]
        limit = r["limit"].get("failed") or ", ".join(f"{way} {shown(s)}" for way, s in r["limit"].items())
        rows.append([r["workload"], *ours, limit])
    seconds = table("All pairs with the class, from the rows", heads, rows)
    heads = ["", "workload", "kernels", "times as long", "at most", "verdict"]
    return "\n\n".join(filter(None, [seconds, _verdicts("All pairs, compared with the limit", heads, demands.limit(records))]))


def growth(records: Sequence[Record]) -> str:
    heads = ["cost", "with", "kernels", "slope", "at most", "verdict"]
    failures = [f"growth with {r['with']}, {r['tier']}: {r['failed']}" for r in records if "failed" in r]
    slopes = _verdicts(
        "Growth: the slope of log cost over log size", heads, demands.growth(records), lambda x: "-" if x is None else f"{x:.2f}"
    )
    return "\n".join(filter(None, [slopes, *failures]))


def cold(record: Record | None) -> str:
    if record is None:
        return ""
    if "failed" in record:
        return f"Cold start: failed: {record['failed']}"
    verdict = Verdict(
        "naivete fit W1.csv / import sklearn.naive_bayes",
        "W1",
        "",
        record["fit"] / record["import"],
        demands.COLD,
        at_least=False,
    )
    heads = ["", "workload", "kernels", "ratio", "at most", "verdict"]
    seconds = f"  naivete fit {shown(record['fit'])} s, import {shown(record['import'])} s"
    return _verdicts("Cold start, from the shell", heads, [verdict]) + "\n" + seconds
