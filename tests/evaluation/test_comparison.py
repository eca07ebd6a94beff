from __future__ import annotations

import csv
import io
import json
import math
import re
import xml.etree.ElementTree as ET
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naivete.errors import DataError, ParameterError
from naivete.evaluation.comparison import Comparisons, compare, compare_many
from naivete.evaluation.comparison_table import sheet_of
from naivete.evaluation.comparison_terms import visible
from naivete.evaluation.diagram import as_csv, as_json, as_latex, as_markdown, as_text, critical_difference_diagram
from naivete.evaluation.statistics import (
    Nemenyi,
    bayesian_correlated_t,
    corrected_t,
    friedman,
    holm,
    nemenyi,
    paired_t,
    wilcoxon,
)

NB = [0.86, 0.84, 0.88, 0.85, 0.87, 0.86, 0.83, 0.88, 0.86, 0.87]
KDB = [0.90, 0.91, 0.88, 0.92, 0.90, 0.87, 0.89, 0.93, 0.90, 0.88]
TAN = [0.86, 0.85, 0.87, 0.86, 0.87, 0.85, 0.84, 0.88, 0.87, 0.87]

scores = st.lists(st.integers(0, 64).map(lambda n: n / 64), min_size=4, max_size=4)
hostile = st.text(st.characters(), max_size=12) | st.sampled_from(
    [
        "a|b",
        "[x](javascript:1)",
        "<script>",
        "1. x",
        "- x",
        "\\end{tabular}",
        "%",
        "=1+1",
        'a"b',
        "a,b",
        "a\nb",
        "\x1b[31m",
        "\u202ex",
        "$x_1^2$",
    ]
)


def many(sets: int = 8, seed: int = 0) -> Comparisons:
    rng = np.random.default_rng(seed)
    table = {}
    for i in range(sets):
        hard = rng.normal(0, 0.02, 10) + rng.uniform(0.6, 0.9)
        table[f"set_{i}"] = {
            m: (hard + gain + rng.normal(0, 0.01, 10)).tolist() for m, gain in [("nb", 0.0), ("tan", 0.03), ("kdb", 0.05)]
        }
    return compare_many(table, test_share=0.1)


def test_each_pair_has_the_results_of_all_tests() -> None:
    result = compare({"nb": NB, "kdb": KDB, "tan": TAN}, test_share=0.1)
    assert (result.baseline, result.rounds, [pair.model for pair in result.pairs]) == ("nb", 10, ["kdb", "tan"])
    for pair, own in zip(result.pairs, (KDB, TAN), strict=True):
        d = np.where(np.array(own) == NB, 0.0, np.array(own) - NB)
        assert pair.plain == paired_t(d)
        assert pair.corrected == corrected_t(d, 0.1)
        assert pair.wilcoxon == wilcoxon(d)
        assert pair.bayesian == bayesian_correlated_t(d, 0.1, 0.01)
        assert (pair.mean, pair.deviation) == pytest.approx((np.mean(own), np.std(own, ddof=1)))
        assert pair.difference == pytest.approx(np.mean(own) - np.mean(NB))
    assert [pair.adjusted for pair in result.pairs] == holm([pair.corrected.p for pair in result.pairs])
    assert [pair.verdict for pair in result.pairs] == ["better", "undecided"]


def test_significantly_better_models_are_named() -> None:
    result = compare({"nb": NB, "kdb:k=2": KDB}, test_share=0.1, data="kr-vs-kp")
    assert result.sentence == (
        "kdb:k=2 is better than nb on kr-vs-kp: 89.8 against 86.0 per cent accuracy; the corrected test gives p = 0.0097. The plain "
        "paired t, which ignores that the training sets overlap, gives p = 0.001. The probability that kdb:k=2 is better by more than "
        "1 point is 0.98."
    )
    assert "nb is worse than kdb:k=2 on kr-vs-kp" in compare({"kdb:k=2": KDB, "nb": NB}, test_share=0.1, data="kr-vs-kp").sentence


def test_models_without_significant_difference_are_not_called_better() -> None:
    told = compare({"nb": NB, "tan": TAN}, test_share=0.1, rope=0.02).sentence
    assert re.match(
        r"tan and nb do not differ significantly: 86\.2 against 86\.0 per cent accuracy; the corrected test gives p = 0\.\d+\.",
        told,
    )
    assert "With a region of practical equivalence of 2 points the probability that they are practically equal is" in told
    assert not {"better", "worse"} & set(re.findall(r"\w+", told))


def test_the_sentence_mentions_an_uncorrected_test_that_differs() -> None:
    better = [a + d for a, d in zip(NB, [0.02, -0.01, 0.03, 0.0, 0.02, 0.01, 0.03, -0.01, 0.02, 0.01], strict=True)]
    result = compare({"nb": NB, "x": better}, test_share=0.1)
    assert result.pairs[0].plain.p < 0.05 < result.pairs[0].corrected.p
    assert "The plain paired t would find a difference (p = " in result.sentence
    assert "is better" not in result.sentence


def test_many_comparisons_are_allowed_for() -> None:
    models = {"nb": NB, "kdb": KDB} | {f"m{i}": TAN for i in range(9)}
    told = compare(models, test_share=0.1).sentences[0]
    assert "Allowing for 10 comparisons with nb (Holm) it is p = 0.097: this may be chance." in told


def test_the_same_scores_and_the_same_difference() -> None:
    assert compare({"a": NB, "b": NB}, test_share=0.1).sentence == "b and a scored the same in every round: 86.0 per cent accuracy."
    result = compare({"a": [0.5, 0.25], "b": [0.75, 0.5]}, test_share=0.5)
    assert result.pairs[0].corrected.p == 0
    assert "The difference is the same in all 2 rounds" in result.sentence
    assert as_json(result)["pairs"][0]["corrected_t"] is None


def test_a_loss_is_better_when_it_is_lower() -> None:
    result = compare({"nb": KDB, "tan": NB}, test_share=0.1, higher_is_better=False, measure="log loss", rope=0.0)
    assert result.pairs[0].verdict == "better"
    assert result.sentence.startswith("tan is better than nb: 0.86 against 0.898 log loss;")
    assert result.sentence.endswith("The probability that tan is better is more than 0.99.")


@settings(deadline=None)
@given(scores, scores)
def test_swapping_the_models_mirrors_the_comparison(one: list[float], two: list[float]) -> None:
    here, there = compare({"a": one, "b": two}, test_share=0.25).pairs[0], compare({"b": two, "a": one}, test_share=0.25).pairs[0]
    assert here.difference == -there.difference
    assert (here.corrected.statistic, here.corrected.p) == (-there.corrected.statistic, there.corrected.p)
    assert here.bayesian[:3] == pytest.approx(there.bayesian[2::-1])
    assert {here.verdict, there.verdict} in ({"undecided"}, {"better", "worse"})
    lower = compare({"a": one, "b": two}, test_share=0.25, higher_is_better=False).pairs[0]
    assert (lower.corrected, lower.wilcoxon.p) == (there.corrected, there.wilcoxon.p)


@settings(deadline=None)
@given(scores, scores, st.integers(-64, 64))
def test_a_constant_added_to_both_models_has_no_effect(one: list[float], two: list[float], more: int) -> None:
    here = compare({"a": one, "b": two}, test_share=0.25).pairs[0]
    moved = compare({"a": [s + more / 64 for s in one], "b": [s + more / 64 for s in two]}, test_share=0.25).pairs[0]
    assert (here.corrected, here.plain, here.wilcoxon, here.bayesian) == (
        moved.corrected,
        moved.plain,
        moved.wilcoxon,
        moved.bayesian,
    )


def test_rounding_errors_are_not_differences() -> None:
    result = compare({"a": [0.1 + 0.2, 0.3, 0.3], "b": [0.3, 0.3, 0.3]}, test_share=1 / 3)
    assert result.pairs[0].corrected.p == 1


def test_several_data_sets() -> None:
    result = many()
    means = [[own.mean, *(pair.mean for pair in own.pairs)] for own in result.comparisons]
    assert result.models == ("nb", "tan", "kdb")
    assert result.friedman == friedman(means)
    assert result.nemenyi == nemenyi(means)
    assert [sum(result.counts(m)) for m in (1, 2)] == [8, 8]
    assert result.counts(2)[0] == sum(own.pairs[1].verdict == "better" for own in result.comparisons)
    assert result.sentences[0].startswith("Over 8 data sets the average ranks differ (Friedman's chi-square p = ")
    assert result.sentences[1].startswith("By Nemenyi's test (critical difference 1.17) kdb (1.00) is better than nb (3.00)")
    assert "Wilcoxon's test of the means gives p = 0.0078." in result.sentences[2]


def test_too_few_or_equal_data_sets_conclude_nothing() -> None:
    equal = {"nb": NB, "tan": NB, "kdb": NB}
    result = compare_many({"a": equal, "b": equal, "c": equal}, test_share=0.1)
    assert result.sentences[0].endswith(": no model is the best.")
    assert len(result.sentences) == 3
    few = compare_many({name: {"nb": NB, "kdb": KDB} for name in "abc"}, test_share={"a": 0.1, "b": 0.1, "c": 0.5})
    assert few.comparisons[2].pairs[0].corrected == corrected_t(np.array(KDB) - np.where(np.array(KDB) == NB, KDB, NB), 0.5)
    assert few.sentence.endswith("gives p = 0.25, and so few data sets cannot give less than 0.25.")


def test_the_baseline_is_the_first_or_the_named_one() -> None:
    table = {"a": {"nb": NB, "kdb": KDB, "tan": TAN}, "b": {"tan": TAN, "kdb": KDB, "nb": NB}}
    result = compare_many(table, test_share=0.1, baseline="kdb")
    assert result.models == ("kdb", "nb", "tan")
    assert all([pair.model for pair in own.pairs] == ["nb", "tan"] for own in result.comparisons)
    with pytest.raises(ParameterError, match="did you mean kdb"):
        compare(table["a"], test_share=0.1, baseline="kbd")
    with pytest.raises(ParameterError, match="none of the models; the models are nb, kdb, tan"):
        compare(table["a"], test_share=0.1, baseline="xyz")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"a": [1, 2]}, "1 models"),
        ({"a": [1], "b": [2]}, "'a' has scores of the shape"),
        ({"a": [1, 2], "b": [1, 2, 3]}, "'b' has scores of the shape"),
        ({"a": [1, 2], "b": [1, math.nan]}, "the scores of 'b' must be finite"),
        ({"a": [1, 2], "b": [1, 1e200]}, "the scores of 'b' must be finite"),
        ({"a": [1, 2], "b": ["x", 2]}, "must be lists of numbers"),
    ],
)
def test_what_cannot_be_compared_is_refused(given: Any, message: str) -> None:
    with pytest.raises((DataError, ParameterError), match=message):
        compare(given, test_share=0.5)


def test_parameters_out_of_range_are_refused() -> None:
    two = {"a": [1.0, 2.0], "b": [2.0, 2.0]}
    for wrong in ({"alpha": 0.0}, {"rope": -1.0}, {"test_share": 1.0}):
        with pytest.raises(ParameterError, match=next(iter(wrong))):
            compare(two, **({"test_share": 0.5} | wrong))
    with pytest.raises(ParameterError, match="1 data sets"):
        compare_many({"x": two}, test_share=0.5)
    with pytest.raises(DataError, match="'y' has other models"):
        compare_many({"x": two, "y": {"a": [1.0, 2.0]}}, test_share=0.5)
    with pytest.raises(ParameterError, match="no value for the data set 'y'"):
        compare_many({"x": two, "y": two}, test_share={"x": 0.5})


def test_text_has_aligned_columns_and_marks() -> None:
    lines = as_text(compare({"nb": NB, "kdb": KDB, "worse": [s - 0.1 for s in TAN]}, test_share=0.1, data="chess")).splitlines()
    assert lines[0] == "chess: accuracy in per cent, 10 rounds, compared with nb"
    assert lines[2].split()[:3] == ["model", "mean", "sd"]
    assert lines[3].split() == ["nb", "86.0", "1.6"]
    assert lines[4].split()[:5] == ["kdb", "89.8", "v", "1.9", "3.8"]
    assert lines[5].split()[:3] == ["worse", "76.2", "*"]
    assert len({line.index(".") for line in lines[3:6]}) == 1
    assert lines[7] == "v: better, *: worse than nb by the corrected paired t (p < 0.05); equal: within 1 point"
    table = as_text(many()).splitlines()
    assert table[2].split() == ["data", "set", "nb", "tan", "kdb"]
    assert any(line.startswith("better/undecided/worse") and line.endswith("8/0/0") for line in table)
    assert table[12].split() == ["average", "rank", "3.00", "2.00", "1.00"]


@settings(max_examples=60, deadline=None)
@given(st.lists(hostile, min_size=3, max_size=3, unique_by=visible), hostile)
def test_hostile_names_break_no_format(names: list[str], data: str) -> None:
    own = dict(zip(names, (NB, KDB, TAN), strict=True))
    for result in (compare(own, test_share=0.1, data=data), compare_many({data: own, data + "2": own}, test_share=0.1)):
        text = as_text(result)
        assert all(char.isprintable() or char == "\n" for char in text)
        assert text.count("\n") == as_text(_tame(result)).count("\n")
        tables = [line for line in as_markdown(result).splitlines() if line.startswith("| ")]
        assert len({len(re.findall(r"(?<!\\)(?:\\\\)*\|", line)) for line in tables}) == 1
        rows = list(csv.DictReader(io.StringIO(as_csv(result), newline="")))
        assert {row["model"] for row in rows} == {visible(name) for name in names[1:]}
        back = json.loads(json.dumps(as_json(result), allow_nan=False))
        assert {pair["model"] for pair in back["pairs"]} == set(names[1:])
        _check_latex(as_latex(result))


def _tame(result: Any) -> Any:
    """A result of the same shape whose names are plain words."""
    own = {"a": NB, "b": KDB, "c": TAN}
    if isinstance(result, Comparisons):
        return compare_many({"x": own, "y": own}, test_share=0.1)
    return compare(own, test_share=0.1, data="x")


def _check_latex(text: str) -> None:
    """No command, comment or mathematics but our own; every brace is closed; every row has its columns."""
    commands = set(re.findall(r"\\([a-zA-Z]+)", text))
    assert commands <= {"begin", "end", "hline"} | {
        f"text{word}" for word in ["backslash", "asciitilde", "asciicircum", "less", "greater", "bar"]
    }
    bare = re.sub(r"\\[_&%#${}]", "", text)
    assert not set("%#$~^") & set(bare)
    assert text.count(r"\begin") == text.count(r"\end") == 1
    assert bare.count("{") == bare.count("}")
    rows = [line for line in bare.splitlines() if line.endswith(r"\\")]
    assert len({row.count("&") for row in rows}) == 1
    assert not any(row.lstrip().startswith(("[", "*")) for row in rows)


def test_markdown_and_latex_escape() -> None:
    result = compare({"a|b": NB, "<i>_x_</i>": KDB}, test_share=0.1, data="50% & more")
    assert r"| \<i\>\_x\_\</i\> | 89.8 v | 1.9 | 3.8 |" in as_markdown(result)
    assert r"50\% \& more: accuracy in per cent" in as_latex(result)
    assert r"\textless{}i\textgreater{}\_x\_\textless{}/i\textgreater{} & 89.8 v & 1.9 & 3.8" in as_latex(result)


def test_csv_and_json_hold_every_number() -> None:
    result = many()
    rows, plain = list(csv.DictReader(io.StringIO(as_csv(result)))), as_json(result)
    assert len(rows) == len(plain["pairs"]) == 16
    pair = result.comparisons[3].pairs[1]
    row, record = rows[7], plain["pairs"][7]
    assert (row["data_set"], row["model"], row["verdict"]) == ("set_3", "kdb", pair.verdict)
    assert float(row["corrected_p"]) == record["corrected_p"] == pair.corrected.p
    assert [record[f"p_{side}"] for side in ("worse", "equal", "better")] == list(pair.bayesian[:3])
    assert plain["counts"]["kdb"] == dict(zip(("better", "undecided", "worse"), result.counts(2), strict=True))
    assert plain["nemenyi"]["models"] == ["nb", "tan", "kdb"]
    assert plain["nemenyi"]["ranks"] == list(result.nemenyi.ranks)
    assert plain["friedman"]["f_p"] == result.friedman.f_p
    assert plain["sentences"] == list(result.sentences)


def svg(text: str) -> ET.Element:
    return ET.fromstring(text)


def words(drawing: ET.Element) -> list[str]:
    return [node.text or "" for node in drawing.iter("{http://www.w3.org/2000/svg}text")]


def test_the_diagram_shows_ranks_names_groups_and_the_critical_difference() -> None:
    ranks = Nemenyi((1.0, 3.0, 2.2, 4.0), 1.25, (), 0.05, 14)
    text = critical_difference_diagram(ranks, ["a", "b", "c", "d"], title="Four models")
    assert text == critical_difference_diagram(ranks, ["a", "b", "c", "d"], title="Four models")
    assert text._repr_html_() == str(text)  # notebooks show the drawing, not its source
    told = words(svg(text))
    assert {"a", "b", "c", "d", "1.00", "3.00", "2.20", "4.00", "Four models", "critical difference 1.25 (p < 0.05)"} <= set(told)
    bars = [path.get("d", "") for path in svg(text).iter("{http://www.w3.org/2000/svg}path") if path.get("class") == "nv-group"]
    ends = [tuple(float(n) for n in re.findall(r"[\d.]+", bar))[::2] for bar in bars]
    assert len(ends) == 3  # a-c, c-b and b-d
    assert [round((end - start - 8) / (340 / 3), 6) for start, end in ends] == pytest.approx([1.2, 0.8, 1.0], abs=1e-3)
    assert len({bar.split()[1].split("H")[0] for bar in bars}) == 2  # neighbours that touch stand on two levels


@pytest.mark.parametrize("k", [2, 3, 13, 60])
def test_the_diagram_stays_inside_its_frame(k: int) -> None:
    scores = np.random.default_rng(k).normal(size=(6, k)) + np.arange(k) / 4
    drawing = svg(critical_difference_diagram(nemenyi(scores), [f"model {i} " * 9 for i in range(k)]))
    width, height = float(drawing.get("width", "")), float(drawing.get("height", ""))
    for node in drawing.iter("{http://www.w3.org/2000/svg}text"):
        assert 0 <= float(node.get("x", "")) <= width
        assert 0 <= float(node.get("y", "")) <= height
    assert len([word for word in words(drawing) if word.startswith("model")]) == k


def test_a_critical_difference_longer_than_the_axis_is_stated() -> None:
    test = nemenyi([[1, 2], [2, 1]])
    assert "critical difference 1.39 (p < 0.05): longer than the axis" in words(svg(critical_difference_diagram(test, ["a", "b"])))


@settings(max_examples=40, deadline=None)
@given(st.lists(hostile, min_size=3, max_size=3))
def test_hostile_names_are_inert_in_the_diagram(names: list[str]) -> None:
    text = critical_difference_diagram(Nemenyi((1.0, 2.5, 2.5), 1.0, (), 0.05, 4), names, title=names[0])
    tags = {node.tag.split("}")[1] for node in svg(text).iter()}
    assert tags == {"svg", "title", "desc", "style", "path", "text"}
    assert not re.search(r"\bon\w+=|href|<script", text)


def test_every_rank_needs_a_name() -> None:
    with pytest.raises(DataError, match="1 names for 2"):
        critical_difference_diagram(nemenyi([[1, 2], [2, 1]]), ["a"])


def test_ties_are_not_blamed_on_the_number_of_data_sets() -> None:
    def sentence(sets: int, same: int, alpha: float = 0.05) -> str:
        table = {f"d{i}": {"nb": [0.7, 0.8, 0.9], "tan": [0.7, 0.8, 0.9 + 0.01 * (i >= same)]} for i in range(sets)}
        return compare_many(table, test_share=0.1, alpha=alpha).sentences[-1]

    assert sentence(3, 0).endswith("gives p = 0.25, and so few data sets cannot give less than 0.25.")
    assert sentence(8, 5).endswith("gives p = 0.25, and the 3 data sets whose means differ cannot give less than 0.25.")
    assert sentence(8, 7).endswith("gives p = 1, and the 1 data set whose means differ cannot give less than 1.")
    assert sentence(4, 2).endswith("gives p = 0.5, and the 2 data sets whose means differ cannot give less than 0.5.")
    assert sentence(8, 8).endswith("gives p = 1, as the means are the same on all of them.")
    assert sentence(8, 1).endswith("gives p = 0.016.")


def test_the_sheet_of_a_comparison_is_public() -> None:
    for result in (many(3), many(3).comparisons[0]):
        own = sheet_of(result)
        assert all(len(row) == len(own.headers) for row in own.rows)
        assert own.title in as_text(result)
        assert list(own.sentences) == list(result.sentences)
