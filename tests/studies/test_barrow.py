"""Barrow (2011): the generator, the claims on generated data, the printed matrices, the listing, and breast cancer."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.metrics import f1_score
from sklearn.naive_bayes import GaussianNB
from studies.barrow_2011.cancer import MATRICES, NAIVE, SIZE, cancer_cases, cancer_sheets, models, printed_sheet
from studies.barrow_2011.claims import Line, clearly_above, correlated, flat, line, one_more_division, over_folds, sloped
from studies.barrow_2011.domains import ATTRIBUTES, SETS, Drawing, Strength, Study, balance_cases, cross_validated, f_score, study
from studies.barrow_2011.listing import Listing, accuracy, f1, listing_f, listing_matrix
from studies.barrow_2011.plots import figures, sheets
from studies.verdicts import INSIDE, MISPRINT, NOT_REPRODUCED, NOT_RUN, REPRODUCED, UNDECIDED

from naivete import Encoder, Full, KNaive, NaiveBayes, ParameterError
from naivete.evaluation import stratified_folds
from studies import Cell, Options, barrow_2011

NORMAL = Encoder(numbers="normal", kinds="numeric")
quick = settings(deadline=None, max_examples=30)

# The generator


@quick
@given(st.integers(0, 40), st.floats(-1, 1), st.integers(0, 10**6))
def test_cases_are_as_asked(rows: int, balance: float, seed: int) -> None:
    X, positive = balance_cases(rows, balance, random_state=seed)
    assert X.shape == (rows, ATTRIBUTES)
    assert np.isfinite(X).all()
    assert positive.tolist() == [i % 2 for i in range(rows)]
    again, _ = balance_cases(rows, balance, random_state=seed)
    assert np.array_equal(X, again)


@pytest.mark.parametrize("balance", [-1.0, -0.4, 0.0, 0.4, 1.0])
def test_dependence_is_in_one_class(balance: float) -> None:
    X, positive = balance_cases(40_000, balance, random_state=3)
    for c, own in ((0, max(-balance, 0.0)), (1, max(balance, 0.0))):
        part = X[positive == c]
        pairs = np.array([np.corrcoef(part.T)[i, j] for i, j in combinations(range(ATTRIBUTES), 2)])
        assert (pairs >= 0.49 * own - 0.03).all()
        assert (pairs <= 0.9025 * own + 0.03).all()
        assert part.var(axis=0) == pytest.approx(np.ones(ATTRIBUTES), abs=0.04)
    shift = X[positive == 1].mean(axis=0) - X[positive == 0].mean(axis=0)
    assert (shift > 0.72 - 0.04).all()
    assert (shift < 1.8 + 0.04).all()


def test_balance_turned_round_exchanges_the_classes() -> None:
    """The same random numbers with the opposite balance: the dependence is in the other class, and as strong."""
    (one, positive), (two, _) = (balance_cases(20_000, own, random_state=1) for own in (-0.8, 0.8))
    found = [np.corrcoef(X[positive == c].T) for X, c in ((one, 0), (two, 1))]
    assert np.abs(found[0] - found[1]).max() < 0.03


def test_what_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"balance=1\.5: pass a number between -1 and 1"):
        balance_cases(10, 1.5)
    with pytest.raises(ParameterError, match="rows=-1"):
        balance_cases(-1, 0.0)
    with pytest.raises(ParameterError, match="loadings have to be between 0 and 1"):
        balance_cases(10, 0.5, strength=Strength(loadings=(0.5, 1.5)))


# The classifiers on it


def folds_of(seed: tuple[int, ...], positive: np.ndarray) -> np.ndarray:
    return stratified_folds(positive, 10, int(np.random.default_rng((*seed, 2)).integers(2**31)))


def test_classes_are_those_of_the_classifiers_and_of_scikit_learn() -> None:
    X, positive = balance_cases(160, 0.8, random_state=5)
    said = cross_validated(X, positive, (0, 1))
    fold = folds_of((0, 1), positive)
    ours = {0: Full(encoder=NORMAL), len(SETS) - 1: NaiveBayes(encoder=NORMAL)}
    ours |= {len(SETS) - 1 + k: KNaive(k=k, encoder=NORMAL) for k in (1, 2, 3)}
    peers = {0: QuadraticDiscriminantAnalysis(), len(SETS) - 1: GaussianNB(var_smoothing=0)}
    for models_, least in ((ours, 1.0), (peers, 0.98)):  # scikit-learn divides by n - 1
        for column, model in models_.items():
            found = np.empty(len(X), np.int64)
            for i in range(10):
                found[fold == i] = model.fit(X[fold != i], positive[fold != i]).predict(X[fold == i])
            assert np.mean(found == said[0, column]) >= least


def test_given_all_others_by_hand() -> None:
    """Naive Bayes times what the precision matrices say of each attribute given the others."""
    X, positive = balance_cases(150, -0.9, random_state=8)
    said, fold = cross_validated(X, positive, (4,)), folds_of((4,), positive)
    alone, others = np.empty((2, len(X), 2, ATTRIBUTES))
    for i in range(10):
        for c in (0, 1):
            rows = X[(fold != i) & (positive == c)]
            away, covariance = X[fold == i] - rows.mean(axis=0), np.cov(rows.T, bias=True)
            precision = np.linalg.inv(covariance)
            alone[fold == i, c] = stats.norm.logpdf(away, scale=np.sqrt(np.diagonal(covariance)))
            variance = 1 / np.diagonal(precision)
            others[fold == i, c] = stats.norm.logpdf(away @ precision * variance, scale=np.sqrt(variance))
    for column, held in enumerate(SETS):
        rest = [x for x in range(ATTRIBUTES) if x not in held]
        joint = alone[:, :, list(held)].sum(axis=2) + others[:, :, rest].sum(axis=2)
        assert np.mean(joint.argmax(axis=1) == said[1, column]) > 0.99  # but for priors of folds


def test_one_attribute_held_is_the_full_network() -> None:
    """Whatever comes first: a network always has an attribute without parents."""
    X, positive = balance_cases(200, 0.7, random_state=2)
    whole = Full(encoder=NORMAL).fit(X, positive).predict_proba(X)
    one = KNaive(k=1, encoder=NORMAL).fit(X, positive)
    assert np.abs(one.predict_proba(X) - whole).max() < 1e-12
    anything = KNaive(encoder=NORMAL).fit(X, positive)
    assert set(one.naive_) < set(anything.naive_)  # what weighs nothing is held beside the best of the others
    assert anything.weight_ > 0 == one.weight_


def test_f_score_is_that_of_scikit_learn() -> None:
    draw = np.random.default_rng(0)
    for _ in range(20):
        true, said = draw.integers(0, 2, (2, 30))
        assert float(f_score(true, said)) == pytest.approx(f1_score(true, said))


def test_a_data_set_does_not_depend_on_the_others() -> None:
    drawing = Drawing((-0.5, 0.5), ((20, 40),) * 2, range(2), (1,))
    whole = study(drawing)
    first, *rest = (study(part) for part in drawing.parts(1))
    for one, two in zip(whole, first.joined(rest), strict=True):
        assert np.array_equal(one, two)
    assert not np.array_equal(whole.scores, study(drawing._replace(seed=(2,))).scores)


def test_ranks_and_weights_of_a_study() -> None:
    scores = np.zeros((1, 2, 2, len(SETS) + 3))
    scores[0, 0, 1, 1:5] = (0.1, 0.2, 0.3, 0.4)  # one attribute held, given all others
    weights = np.zeros((1, 2, ATTRIBUTES))
    weights[0, 1] = (-3.0, 1.0, 2.0, -0.5)
    study = Study(np.zeros(1), np.array([10]), np.ones(1), scores, weights)
    assert study.ranked(1, "all others").tolist() == [[0.4, 0.2, 0.3, 0.1]]
    assert study.weight(1, "all others").tolist() == [0.5]
    assert study.weight(3, "all others").tolist() == [0.0]  # -3 + 1 + 2
    scores[0, 1, 0, [0, -4, -3, -2, -1]] = (0.5, 0.6, 0.7, 0.8, 0.9)
    found = [float(study.of(name, measure="accuracy")[0]) for name in ("full", "naive", "1", "2", "3")]
    assert found == [0.5, 0.6, 0.7, 0.8, 0.9]


# The claims


def studies_of(
    balances: tuple[float, ...], near: tuple[int, tuple[int, int]], few: tuple[int, ...], each: int
) -> tuple[Study, ...]:
    count, rows = near
    sizes = tuple((size, size) for size in few for _ in range(each))
    return (
        study(Drawing(balances, ((200, 300),) * len(balances), range(len(balances)), (0, 1))),
        study(Drawing((0.0,) * count, (rows,) * count, range(count), (0, 2))),
        study(Drawing((-0.5,) * len(sizes), sizes, range(len(sizes)), (0, 3))),
    )


def generated_studies(each: int) -> tuple[Study, ...]:
    balances = tuple(sign * balance for balance in (0.01, 0.9, 1.0) for sign in (-1, 1) for _ in range(each))
    return studies_of(balances, (4, (40, 60)), (10, 20, 110), 3 * each)


@pytest.fixture(scope="module")
def generated() -> tuple[Study, ...]:
    return generated_studies(1)


def cells_of(studies: tuple[Study, ...]) -> dict[str, Cell]:
    """The cells by the number of the section, the plot or form, and their name."""
    all_balances, near_zero, few_cases = studies
    found = {}
    for sheet in sheets(all_balances, near_zero, few_cases):
        section = sheet.title.removeprefix("Section ").split(":")[0]
        form = next((text for text in ("as networks", "given all others") if text in sheet.title), "")
        found |= {f"{section}; {form}; {cell.name}": cell for cell in sheet.cells}
    return found


@pytest.mark.slow
def test_claims_of_the_thesis() -> None:
    cells = cells_of(generated_studies(3))
    for name in (
        "3.2, first plot; ; naive Bayes against |balance|",
        "3.2, first plot; ; full minus naive against |balance|",
        "3.2, second plot; as networks; 3-weakly naive against |balance|",
        "3.2, second plot; as networks; 1-weakly minus 2-weakly naive",
        "3.4; ; naive Bayes: distance from the mean, 100 cases more",
    ):
        assert cells[name].verdict == REPRODUCED, name


@pytest.mark.slow
def test_claims_that_need_more_data_sets() -> None:
    balances = tuple(sign * balance for balance in (0.01, 0.5, 0.9, 1.0) for sign in (-1, 1) for _ in range(6))
    cells = cells_of(studies_of(balances, (40, (60, 80)), (10, 20, 40, 110), 25))
    assert cells["3.2, first plot; ; naive minus full, |balance| up to 0.1"].verdict == REPRODUCED
    assert cells["3.3; ; 1 of 4, given all others: first minus the mean of the other 3"].verdict == NOT_REPRODUCED
    assert cells["3.4; ; naive minus 2-weakly naive, 20 to 50 cases"].verdict == REPRODUCED


def test_networks_with_one_naive_attribute_are_the_full_one(generated: tuple[Study, ...]) -> None:
    sweep, _, sparse = generated
    for own in (sweep, sparse):
        assert np.array_equal(own.of("1"), own.of("full"))
    assert not np.array_equal(sweep.of("1", "all others"), sweep.of("full", "all others"))
    assert np.array_equal(sweep.of("naive"), sweep.of("naive", "all others"))


def test_ten_cases_are_too_few_for_a_covariance_matrix(generated: tuple[Study, ...]) -> None:
    """Without the tested case its class has four cases and a singular covariance: every case gets the other class."""
    _, _, sparse = generated
    ten = sparse.rows == 10
    assert (sparse.of("full", measure="accuracy")[ten] == 0).all()
    assert sparse.of("naive", measure="accuracy")[ten].mean() > 0.6


def test_figures_have_the_curves_of_the_thesis(generated: tuple[Study, ...]) -> None:
    sweep, _, sparse = generated
    drawn = list(figures(sweep, sparse))
    assert [list(own.curves) for own in drawn[:2]] == [["naive", "full"], ["1-weak", "2-weak", "3-weak"]]
    assert [x for x, _, _ in drawn[-1].curves["naive Bayes"]] == [10, 20, 110]
    first = {x: mean for x, mean, _ in drawn[0].curves["naive"]}
    assert first[0.95] == pytest.approx(100 * sweep.of("naive")[sweep.balances >= 0.9].mean())


# The tests behind the verdicts


@quick
@given(st.integers(0, 10**6))
def test_lines_are_those_of_least_squares(seed: int) -> None:
    draw = np.random.default_rng(seed)
    x, other, noise = draw.normal(size=(3, 30))
    fitted = line(x, 2 * x + noise)
    assert fitted.slope == pytest.approx(stats.linregress(x, 2 * x + noise).slope)
    assert line(x, 2 * x + 5 * other, other).slope == pytest.approx(2)
    assert line(x, 2 * x + 5 * other + noise, other).slope == pytest.approx(line(x, 2 * x + noise, other).slope)


def test_intervals_of_slopes_hold_what_they_promise() -> None:
    """Points that scatter ten times as much on one side: 95 % of the intervals have the slope."""
    draw = np.random.default_rng(0)
    x = np.linspace(0, 1, 60)
    found = [line(x, 3 * x + draw.normal(size=60) * (0.1 + x**2)) for _ in range(400)]
    assert 0.92 <= np.mean([abs(own.slope - 3) <= own.half for own in found]) <= 0.98
    assert max(own.p for own in found) < 0.05


def test_verdicts_on_lines() -> None:
    up, none = Line(2.0, 0.5, 0.001), Line(0.1, 0.5, 0.7)
    assert [sloped("", "rises", own).verdict for own in (up, none)] == [REPRODUCED, UNDECIDED]
    assert sloped("", "falls", up).verdict == NOT_REPRODUCED
    assert flat("", Line(0.8, 0.4, 0.001), up).verdict == UNDECIDED
    assert flat("", none, up).verdict == REPRODUCED


def test_verdicts_on_differences() -> None:
    draw = np.random.default_rng(1)
    small, large = draw.normal(0, 0.5, 100), draw.normal(3, 0.5, 100)
    assert clearly_above("", small).verdict == NOT_REPRODUCED
    assert clearly_above("", large).verdict == REPRODUCED
    assert clearly_above("", np.array([-10.0, 11.0] * 10)).verdict == UNDECIDED
    assert over_folds("", 4.0, large, 10).verdict == REPRODUCED
    assert over_folds("", -4.0, large, 10).verdict == NOT_REPRODUCED
    assert over_folds("", -4.0, small, 10).verdict == NOT_REPRODUCED
    assert over_folds("", -0.1, small, 10).verdict == UNDECIDED
    assert one_more_division("", 3.1, large[:10]).verdict == INSIDE
    assert one_more_division("", 9.0, large[:10]).verdict == "differs (p < 0.0001)"


def test_rank_correlations() -> None:
    draw = np.random.default_rng(2)
    x, y = draw.normal(size=(2, 400))
    cell = correlated("", x, y)
    assert cell.verdict == REPRODUCED
    assert cell.p == pytest.approx(stats.spearmanr(x, y).pvalue)
    assert correlated("", x, x + 0.1 * y).verdict == NOT_REPRODUCED
    assert correlated("", x, -x + 0.1 * y).verdict == NOT_REPRODUCED
    assert correlated("", x[:10], y[:10]).verdict == UNDECIDED


# The printed matrices


def test_printed_matrices_lose_cases() -> None:
    assert [int(matrix.sum()) for matrix in MATRICES.values()] == [560, 560, 556]
    assert [round(accuracy(matrix), 3) for matrix in MATRICES.values()] == [0.875, 0.768, 0.932]
    assert SIZE.rows == 569


def test_printed_f_scores_mix_definitions() -> None:
    naive, full, weak = MATRICES.values()
    assert [round(f1(naive, c), 3) for c in (0, 1)] == [0.907, 0.809]
    assert [round(listing_f(naive, c), 3) for c in (0, 1)] == [0.860, 0.822]  # 0.878 is none of them
    assert [round(f1(full, c), 3) for c in (0, 1)] == [0.781, 0.753]
    assert round(listing_f(full, 0), 3) == 0.772
    assert round(listing_f(weak, 1), 3) == 0.919
    verdicts = {cell.name: (cell.ours, cell.verdict) for cell in printed_sheet().cells}
    assert verdicts["naive Bayes: F"] == ("none fits", MISPRINT)
    assert verdicts["full Bayes: F"] == ("the listing's of benign", REPRODUCED)
    assert verdicts["k-weakly naive: F"] == ("the listing's of malignant", REPRODUCED)


@quick
@given(st.lists(st.integers(1, 200), min_size=4, max_size=4))
def test_f_of_a_matrix_is_that_of_scikit_learn(counts: list[int]) -> None:
    matrix = np.array(counts, np.float64).reshape(2, 2)
    true = np.repeat([0, 0, 1, 1], counts)
    said = np.repeat([0, 1, 0, 1], counts)
    assert [f1(matrix, c) for c in (0, 1)] == pytest.approx(f1_score(true, said, average=None).tolist())


def test_f_of_the_listing_step_by_step() -> None:
    """truePositiveRate, falsePositiveRate, precision, recall and fscore, as they are printed."""
    m = MATRICES["k-weakly naive"]
    rate = [m[0, 0] / 347, m[1, 1] / 209]
    false = [14 / 347, 24 / 209]
    precision = rate[1] / (rate[1] + false[1])
    recall = rate[1] / (rate[1] + false[0])
    assert listing_f(m, 1) == pytest.approx(2 * precision * recall / (precision + recall))


# The listing


def test_the_listing_line_by_line() -> None:
    """The loops of the appendix, on cases few enough that nothing underflows."""
    X, labels = balance_cases(40, -0.6, random_state=4)
    columns = np.sort(np.column_stack([X, labels]), axis=0)
    parts = [columns[columns[:, -1] == c, :-1] for c in (0, 1)]
    means, variances = ([f(listing, axis=0) for listing in parts] for f in (np.mean, np.var))
    covs = [np.cov(listing.T) for listing in parts]

    def log_norm(value: float, a: int, c: int) -> float:
        return float(np.log(1 / variances[c][a]) + stats.norm.logpdf((value - means[c][a]) / variances[c][a] ** 0.5))

    def shifted(row: np.ndarray, a: int, c: int, others: list[int]) -> float:
        value = float(row[a])
        for j in others:
            if j != a:
                value -= covs[c][a, j] * ((row[j] - means[c][j]) / variances[c][j] ** 0.5)
        return log_norm(value, a, c)

    every, held = list(range(ATTRIBUTES)), [1, 2]
    rest = [0, 3]
    listing = Listing.learned(X, labels)
    ddr = [
        np.mean([[s * (shifted(r, a, c, every) - log_norm(r[a], a, c)) for c, s in ((0, 1), (1, -1))] for r in columns[:, :-1]]) * 2
        for a in every
    ]
    assert listing.weights() == pytest.approx(np.array(ddr))
    for row in X:
        naive = [sum(log_norm(row[a], a, c) for a in every) for c in (0, 1)]
        full = [abs(sum(shifted(row, a, c, every) for a in every)) for c in (0, 1)]
        assert listing.naive(row[None])[0] == np.argmax(naive)
        assert listing.full(row[None])[0] == np.argmin(full)
        for strongly_naive, others in ((True, rest), (False, every)):
            sums = [sum(log_norm(row[a], a, c) for a in held) + sum(shifted(row, a, c, others) for a in rest) for c in (0, 1)]
            assert listing.k_naive(row[None], held, strongly_naive=strongly_naive)[0] == np.argmin(np.abs(sums))


def test_the_listing_tests_whole_folds_only() -> None:
    X, labels = balance_cases(57, 0.0)
    assert listing_matrix(X, labels, Listing.naive).sum() == 50


def test_sorted_columns_depend_on_the_numbers_of_the_classes() -> None:
    """Class 0 gets the smallest values: all is well where it has them, and all is wrong where it does not."""
    X, labels = balance_cases(400, 0.0, random_state=6)
    assert accuracy(listing_matrix(X, labels, Listing.naive)) > 0.75
    assert accuracy(listing_matrix(X, 1 - labels, Listing.naive)) < 0.25


# Breast cancer


@pytest.fixture(scope="module")
def cancer() -> dict[str, Cell]:
    steps: list[str] = []
    found = list(cancer_sheets(cancer_cases(), 2, 0, steps.append))
    assert len(steps) == 2 * (10 * len(models()) + 3)
    return {f"{sheet.title.split(':')[-1].strip()}: {cell.name}": cell for sheet in found for cell in sheet.cells}


@pytest.mark.slow
def test_full_is_not_worse_than_naive_on_breast_cancer(cancer: dict[str, Cell]) -> None:
    found = {name: cell for name, cell in cancer.items() if name.startswith("breast cancer") and name.endswith(": accuracy")}
    accuracies = {name.split(": ")[1]: cell.ours[0] for name, cell in found.items() if isinstance(cell.ours, tuple)}
    assert list(accuracies) == list(models())
    assert accuracies["naive Bayes"] == pytest.approx(91, abs=1)
    assert accuracies["full"] == pytest.approx(93, abs=1)
    assert accuracies["full, Ledoit and Wolf"] == pytest.approx(93, abs=1)
    for claim in ("full minus naive Bayes", "KNaive, k = 3 minus full", "KNaive, any size minus full"):
        assert cancer[f"which is better, points of accuracy: {claim}"].verdict == NOT_REPRODUCED


@pytest.mark.slow
def test_no_reading_gives_the_printed_attributes(cancer: dict[str, Cell]) -> None:
    sets = [cell for name, cell in cancer.items() if name.startswith("the naive attributes: ")]
    assert len(sets) == 10
    assert {cell.verdict for cell in sets} == {NOT_REPRODUCED, NOT_RUN}
    assert {cell.printed for cell in sets} == {"radius, smoothness, compactness"}
    names = [str(column.name) for column in cancer_cases().features.columns]
    assert [names[x] for x in NAIVE] == ["mean_radius", "mean_smoothness", "mean_compactness"]


@pytest.mark.slow
def test_the_full_classifier_of_the_listing_gives_the_printed_naive_bayes(cancer: dict[str, Cell]) -> None:
    found = [cell for name, cell in cancer.items() if "printed naive Bayes" in name]
    assert len(found) == 3
    for cell in found:
        assert cell.difference == pytest.approx(0, abs=1.0)


def test_divisions_of_the_listing_are_seeded() -> None:
    X, labels = balance_cases(205, 0.9, random_state=6)
    one, two, other = (listing_matrix(X, labels, Listing.full, seed=seed) for seed in (0, 0, 1))
    assert np.array_equal(one, two)
    assert not np.array_equal(one, other)


# The whole


def random_scores(drawing: Drawing) -> Study:
    """A study without its work."""
    random, count = np.random.default_rng(drawing.places.start), len(drawing.places)
    rows = np.array([drawing.rows[i][0] for i in drawing.places])
    balances = np.array([drawing.balances[i] for i in drawing.places])
    scores = random.uniform(size=(count, 2, 2, len(SETS) + 3))
    return Study(balances, rows, random.uniform(size=count), scores, random.normal(size=(count, 2, ATTRIBUTES)))


def test_the_whole_on_random_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(barrow_2011, "study", random_scores)
    steps: list[str] = []
    result = barrow_2011.reproduce(Options(quick=True, only=["Generated"], progress=steps.append))
    assert steps[:4] == [*(f"all balances, {count} data sets" for count in (20, 40, 60)), "near zero, 20 data sets"]
    assert len(steps) == 3 + 1 + 4 + 4
    assert [sheet.title.split(":")[0] for sheet in result.sheets[-2:]] == ["Section 3.4", "Other ways to generate the data"]
    assert len(result.figures) == 5
    assert result.summary.startswith("sections 3.2 to 3.4: ")
    assert {kind for kind, _ in result.remarks} >= {"listing", "definition", "not stated", "ordering"}
