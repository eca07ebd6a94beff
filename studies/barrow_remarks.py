"""What there is to say beside the figures of Barrow (2011): how it was run, and what is wrong or left open in the thesis."""

from __future__ import annotations

from collections.abc import Iterator

from studies.verdicts import Remark

__all__ = ["remarks", "told_about"]


def told_about(seed: int, sets: int, few: int, divisions: int, quick: bool) -> Iterator[str]:
    """How it was run, a sentence each."""
    yield (
        "The thesis has scatter plots without numbers and judges them by eye; what is printed here is what its text says of "
        "them. Ours: means or slopes ± half of a 95 % interval, in points of the F score of the positive class."
    )
    if quick:
        yield "Quick: few data sets and divisions; for a real comparison leave --quick out."
    yield (
        f"{sets} data sets of 150 to 300 cases with balances from -1 to 1, and {few} for each number of cases of section 3.4; "
        f"every one is divided into ten folds, seed {seed}. The sets to hold naive are chosen in each fold. Slopes are for one "
        "unit of |balance|; they allow for the distance of the classes of a data set, which is known, and their intervals for "
        "points that scatter unevenly. Above, below, rises and falls are decided at 5 %, else undecided."
    )
    yield (
        "As networks: an attribute that is not held naive depends on those before it and on the held ones, as the definitions "
        "have it. Given all others: on all other attributes at once, as the programs of the thesis have it; that is naive Bayes "
        "times the dependence derivatives of what is not held, a pseudo-likelihood. Weights are means of logarithms."
    )
    yield (
        f"Breast cancer: {divisions} divisions into ten folds. A printed figure is inside the noise where one more division "
        "might give it; ours are means ± deviations over the divisions. Differences of accuracies ± half of a 95 % interval by "
        "the t corrected for training sets that overlap."
    )


def remarks() -> Iterator[Remark]:
    """What the thesis does not say, what its listing gets wrong, and what does not come out."""
    yield Remark(
        "not said",
        "The program that generates the data, Data, is not in the appendix, and section 3.2 describes the data in words only. "
        "Ours: four normal attributes with one common factor in the class that the balance points to, independent in the other. "
        "How strong the factor is and how far apart the classes are is ours as well, chosen among a dozen settings that were "
        "looked at; the slope of the full classifier depends on it, so other settings are run, too.",
    )
    yield Remark(
        "definition",
        "Weak naivete is the number of attributes without parents, said to be 0 for the full network. A network without cycles "
        "has at least one: the full network has naivete 1, and the four 1-weakly naive classifiers of section 3.3 are all the "
        "same, the full one. They differ in the thesis only as its programs condition every attribute on all others.",
    )
    yield Remark(
        "definition",
        "The attribute that comes first in a network has weight 0 by definition, so that the maximally balanced set of any size "
        "would be this attribute alone, and the classifier the full one. Ours holds it beside the best set of the others.",
    )
    yield Remark(
        "weight",
        "Definition 2.2.3 averages ratios, the listing their logarithms. Where radius, perimeter and area nearly determine each "
        "other, single ratios are beyond what a machine can hold, and shrinkage is needed for a mean.",
    )
    yield Remark(
        "weight",
        "Across data sets the thesis sees a weak signal, the best scores at weights that cancel. Ours is weak, too, but of the "
        "other sign: data sets with larger weights have higher scores.",
    )
    yield Remark(
        "ten cases",
        "Section 3.4 begins with ten cases in ten folds: the class of the case that is left out has four cases for four "
        "attributes, no covariance matrix, and a density of nearly nothing off the plane of these four. Every case is classified "
        "wrongly, always; so the claims are tested from 20 cases on.",
    )
    yield Remark(
        "listing",
        "sort(data, axis = 0) sorts every column for itself, the class too: the cases are destroyed, and class 0 gets the "
        "smallest values of every attribute. This does little harm where malignant tumours are larger in nearly everything, and "
        "ruins everything if the classes are numbered the other way round.",
    )
    yield Remark(
        "listing",
        "Densities are divided by the variance, not by the deviation; an attribute is shifted by cov (x - mean) / deviation, not "
        "/ variance; full and k-naive take the sum of logarithms that is nearest to zero, whatever its sign; class priors are "
        "ignored; a density that underflows counts as -1000000, which makes up nearly all of the weights here.",
    )
    yield Remark(
        "listing",
        "logCrossValidatedTest does not hand on `strong`, so that what it calls weak is strong in every fold.",
    )
    yield Remark(
        "listing",
        "Its precision is the recall, and its recall a ratio of rates; section 2.1 calls TP + FP the number of objects in the "
        "test set, and precision the true positive rate. Of the three printed F scores one is the listing's for benign, one the "
        "listing's for malignant tumours, and one follows from no formula.",
    )
    yield Remark(
        "exchanged?",
        "The listing's full classifier, run as it stands, gives what is printed for naive Bayes; this was noticed afterwards, "
        "among the nine pairs of its programs and the printed matrices. Which programs, or which "
        "versions of them, made the other two matrices cannot be told.",
    )
    yield Remark(
        "ordering",
        "Full worse than naive Bayes, and k-weakly naive far better than both, does not reproduce: with correct densities the "
        "full classifier is at least as accurate as naive Bayes, and so is the k-weakly naive one, but no better than the full.",
    )
