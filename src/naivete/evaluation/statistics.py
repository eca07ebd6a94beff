"""Statistical tests of scores: can a difference between classifiers be due to chance, and is it large enough to matter?

Each function takes arrays of scores or of differences between paired scores and returns a named tuple. The results do not depend
on the order of the observations and are never nan. `wilcoxon` and `friedman` are not those of SciPy, which have no exact p values
with ties and need at least three models.

References
----------
Bouckaert and Frank (2004), Evaluating the replicability of significance tests for comparing learning algorithms.
Conover (1999), Practical nonparametric statistics, section 5.8. Corani and Benavoli (2015), A Bayesian approach for comparing
cross-validated algorithms on multiple data sets, section 2. Demsar (2006), Statistical comparisons of classifiers over multiple
data sets. Friedman (1937), The use of ranks to avoid the assumption of normality. Holm (1979), A simple sequentially rejective
multiple test procedure. Iman and Davenport (1980), Approximations of the critical region of the Friedman statistic. Nadeau and
Bengio (2003), Inference for the generalization error. Nemenyi (1963), Distribution-free multiple comparisons. Pratt (1959),
Remarks on zeros and ties in the Wilcoxon signed rank procedures. Welch (1947), The generalization of 'Student's' problem when
several different population variances are involved. Wilcoxon (1945), Individual comparisons by ranking methods.
"""

from __future__ import annotations

from collections.abc import Sequence

from naivete.errors import DataError
from naivete.evaluation.rank_tests import Friedman, Nemenyi, Wilcoxon, friedman, nemenyi, wilcoxon
from naivete.evaluation.t_tests import Bayesian, TTest, bayesian_correlated_t, corrected_t, paired_t, welch

__all__ = [
    "Bayesian",
    "Friedman",
    "Nemenyi",
    "TTest",
    "Wilcoxon",
    "bayesian_correlated_t",
    "corrected_t",
    "friedman",
    "holm",
    "nemenyi",
    "paired_t",
    "welch",
    "wilcoxon",
]


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p values adjusted for multiple comparisons by Holm's step-down method (1979).

    The smallest of m values is multiplied by m, the next by m - 1, and so on; each is at least the one before it and at most 1.

    Parameters
    ----------
    p_values : sequence of float
        The p values.

    Returns
    -------
    list of float
        The adjusted p values, in the same order.

    Examples
    --------
    >>> from naivete.evaluation.statistics import holm
    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    adjusted, least = [0.0] * len(p_values), 0.0
    if not all(0 <= p <= 1 for p in p_values):
        raise DataError("holm: each p value must be between 0 and 1")
    for rank, i in enumerate(sorted(range(len(p_values)), key=lambda i: p_values[i])):
        least = adjusted[i] = min(1.0, max(least, (len(p_values) - rank) * p_values[i]))
    return adjusted
