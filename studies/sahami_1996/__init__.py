"""Sahami (1996), table 2: accuracies of k-dependence classifiers on six data sets, and which are better than naive Bayes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import inf
from typing import Any, Final

import numpy as np

from naivete import KDB, Encoder, FileError
from naivete.data.generated import corral, led7
from naivete.evaluation import LabelledTable, Result, cross_validate, label_table
from naivete.evaluation.statistics import welch
from studies.data_sets import Size, boolean, data_folder, data_set, local_file
from studies.results import Cell, Claim, Options, Reproduction, Sheet, page_text, remark, toml
from studies.verdicts import BY_BOTH, INSIDE, NO_DEVIATION, NOT_RUN, WELCH_LEVEL, claim, compared

__all__ = ["PRINTED", "reproduce"]

PRINTED: Final = toml(__file__, "printed.toml")
FOLDS, QUICK = PRINTED["folds"], 3
VARIANTS: Final = ("KDB-orig", "KDB-theta")
STAND_IN, STAND_IN_SIZE, STAND_IN_TRAINING = "reuters-text3", Size(1511, 3440, 3), 1077
ALL: Final = Encoder(keep=True)
MODELS: Final[Mapping[tuple[str, int], KDB]] = {
    **{("KDB-orig", k): KDB(k=k, theta=-inf, bias="plain", encoder=ALL) for k in range(4)},
    **{("KDB-theta", k): KDB(k=k, theta=PRINTED["theta"], bias="plain", encoder=ALL) for k in range(1, 4)},
}


def reproduce(options: Options) -> Reproduction:
    """Compare table 2 of Sahami (1996) with ours, and test his claims again.

    With `quick` there are three folds instead of ten, and Text is left out.

    References
    ----------
    Sahami (1996), Learning limited dependence Bayesian classifiers, tables 1 and 2; Results.
    """
    names, folds = options.chosen([*PRINTED["sets"], "Text"]), QUICK if options.quick else FOLDS
    title, about, remarks = page_text(__file__, quick=options.quick, seed=options.seed, folds=folds)
    sheets: list[Sheet] = []
    claims: list[Claim] = []
    for name in (name for name in names if name != "Text"):
        cases, heading = _cases(name, options)
        results = _results(cases, folds, options)
        sheets.append(Sheet(f"{name} ({heading})", tuple(_cells(name, results, folds))))
        claims += _claims(name, results)
    verdicts = [cell.verdict for sheet in sheets for cell in sheet.cells]
    quick = f"; quick, {folds} folds" if options.quick else ""
    summary = f"{verdicts.count(INSIDE)} of {len(verdicts)} cells within sampling error (Welch, p > {WELCH_LEVEL:g}{quick})"
    if "Text" in names:
        sheets.append(_text(options))
        remarks += _text_remarks(sheets[-1])
    for variant in VARIANTS:
        confirmed = [claim.verdict for claim in claims if variant in claim.name]
        if confirmed:
            text = f"{variant}: {confirmed.count(BY_BOTH)} of {len(confirmed)} confirmed by both tests."
            remarks.append(("claims", text))
    named = {"claimed": "better than k = 0", "claimed_level": PRINTED["level"]}
    return Reproduction("sahami-1996", title, about, tuple(sheets), tuple(remarks), summary, tuple(claims), **named)


def _cases(name: str, options: Options) -> tuple[LabelledTable, str]:
    """Return the cases of a data set and a description of it."""
    title, seed = PRINTED["sets"][name]["title"], options.seed
    if name == "Corral":
        return label_table(corral(random_state=seed), "class"), title
    if name == "LED7":  # other random numbers than those of the folds
        return label_table(led7(3200, random_state=seed + 1), "digit"), title
    if name == "Chess":
        return data_set("kr-vs-kp", Size(3196, 36, 2)), title
    if name == "Vote":
        return boolean(data_set("vote", Size(435, 16, 2))), title
    try:
        return data_set("dna", Size(3186, 180, 3), folder=data_folder(options.data)), title
    except FileError:
        return data_set("dna3175", Size(3175, 180, 3)), f"{title}; ours: 3175 cases derived from splice"


def _model(variant: str, k: int) -> tuple[str, int]:
    """Return the key of a model in `MODELS`; k = 0 is the same in both variants."""
    return (variant if k else "KDB-orig"), k


def _printed(name: str, variant: str) -> list[Any]:
    """Return mean and deviation for k = 0 .. 3."""
    values = PRINTED["sets"][name]
    return [tuple(pair) for pair in (values["naive"], *values[variant])]


def _results(cases: LabelledTable, folds: int, options: Options) -> dict[tuple[str, int], Result]:
    """Return the result of every model."""
    names = {f"{variant} k = {k}": (variant, k) for variant, k in MODELS}
    models = {name: MODELS[key] for name, key in names.items()}
    results = cross_validate(models, cases, folds=folds, random_state=options.seed, progress=options.progress)
    return {names[result.model]: result for result in results}


def _cells(name: str, results: Mapping[tuple[str, int], Result], folds: int) -> Iterator[Cell]:
    for variant in VARIANTS:
        for k, printed in enumerate(_printed(name, variant)):
            mean, deviation = results[_model(variant, k)].accuracy
            yield compared(f"{variant} k = {k}", printed, (100 * mean, 100 * deviation), folds=(FOLDS, folds))


def _claims(name: str, results: Mapping[tuple[str, int], Result]) -> Iterator[Claim]:
    base = 100 * results[_model("", 0)].accuracies
    for variant in VARIANTS:
        printed = _printed(name, variant)
        for k in PRINTED["sets"][name]["claimed"]:
            better = 100 * results[_model(variant, k)].accuracies
            (mean, deviation), (base_mean, base_deviation) = printed[k], printed[0]
            in_print = mean - base_mean, welch(mean, deviation, FOLDS, base_mean, base_deviation, FOLDS).p
            yield claim(f"{name}, {variant} k = {k}", better, base, 1 / len(base), in_print, PRINTED["level"])


def _text(options: Options) -> Sheet:
    """Return the row of Text, with our accuracies where the stand-in is available."""
    run = not options.quick and local_file(STAND_IN, data_folder(options.data)) is not None
    ours = _text_accuracies(options) if run else None
    reason = "" if run else "left out of quick runs" if options.quick else f"{STAND_IN} may not be distributed; see studies/data"
    cells = [
        Cell(f"{variant} k = {k}", value, ours[_model(variant, k)] if ours else None, NO_DEVIATION if ours else NOT_RUN, reason)
        for variant in VARIANTS
        for k, value in enumerate(PRINTED["text"][variant])
    ]
    return Sheet(f"Text (3 classes, 3440 features, 1084 + 454 cases); ours: a stand-in, {STAND_IN}, 1077 + 434", tuple(cells))


def _text_accuracies(options: Options) -> dict[tuple[str, int], float]:
    """Return the accuracy of every model on the test documents, in per cent."""
    cases = data_set(STAND_IN, STAND_IN_SIZE, folder=data_folder(options.data))
    train, test = (cases.take(rows) for rows in np.split(np.arange(len(cases)), [STAND_IN_TRAINING]))
    accuracies = {}
    for (variant, k), model in MODELS.items():
        predicted = model.fit(train.features, train.labels).predict(test.features)
        accuracies[variant, k] = 100 * float(np.mean(predicted == test.labels))
        options.progress(f"Text, {variant} k = {k}")
    return accuracies


def _text_remarks(sheet: Sheet) -> Iterator[tuple[str, str]]:
    yield remark("stand-in", PRINTED["text"]["remark"])
    ours: list[Any] = [cell.ours for cell in sheet.cells if cell.ours is not None]
    if ours:
        share, others = np.mean(ours) / 100, ours[1:4] + ours[5:]
        text = """Text, ours: naive Bayes {naive:.1f}, the others {least:.1f} to {most:.1f}; the standard error of an accuracy on
        434 documents is about {error:.1f} points."""
        error = 100 * (share * (1 - share) / 434) ** 0.5
        yield remark("stand-in", text, naive=ours[0], least=min(others), most=max(others), error=error)
