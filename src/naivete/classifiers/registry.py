"""The classifiers of the library: one table, which model specifications, files, help texts, comparisons and tests read.

Importing this module imports no classifier, so that `import naivete` and `naivete --help` stay quick. What concerns one classifier
but is needed only once it is used (which attributes are saved, which densities it can use) is in the attributes of its class;
its parameters are those of its constructor.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from naivete.classifiers.base import NetworkClassifier

__all__ = ["BY_WORD", "PEERS", "REGISTRY", "Entry", "entry_of", "help_text", "shares_counts", "with_densities"]

_NOT_TEXT: Final = ("encoder", "budget", "groups")
"""Parameters that a model specification cannot set: the command line has options for the first two, and groups are lists."""


@dataclass(frozen=True)
class Entry:
    """A classifier, its names and its help text.

    Parameters
    ----------
    word : the name of the model on the command line and in model files.
    name : the name of the class.
    module : its module in `naivete.classifiers`.
    help : example specifications, each with one line on what it means.
    similar : other words that users may try; the error message then suggests `word`.
    presets : further words for the model, each with the parameters that it stands for.
    always : parameters that a specification shows even when they have their default value.
    """

    word: str
    name: str
    module: str
    help: Mapping[str, str]
    similar: tuple[str, ...] = ()
    presets: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    always: tuple[str, ...] = ()

    @property
    def estimator(self) -> type[NetworkClassifier]:
        """The class, imported when first needed."""
        estimator: type[NetworkClassifier] = getattr(import_module(f"naivete.classifiers.{self.module}"), self.name)
        return estimator

    @property
    def parameters(self) -> tuple[str, ...]:
        """The parameters that a model specification may set, in the order of the constructor.

        >>> BY_WORD["tan"].parameters
        ('root', 'bias', 'smoothing', 'prior', 'calibration', 'class_weight')
        """
        return tuple(name for name in inspect.signature(self.estimator).parameters if name not in _NOT_TEXT)


REGISTRY: Final = (
    Entry(
        "spectrum",
        "Spectrum",
        "spectrum",
        {
            "spectrum": "weighs all degrees of dependence: the most accurate model",
            "spectrum:members=1": "the same with one structure: quicker, and its log odds are a sum over tables",
        },
    ),
    Entry(
        "majority",
        "Majority",
        "baselines",
        {"majority": "the most frequent class: the baseline for all other models"},
        similar=("zeror",),
    ),
    Entry("lookup", "Lookup", "baselines", {"lookup": "the classes of the training cases that equal the row"}),
    Entry(
        "nb",
        "NaiveBayes",
        "augmented",
        {"nb": "naive Bayes: the features are independent given the class"},
        similar=("naive", "naivebayes", "naive-bayes", "bayes"),
    ),
    Entry("tan", "TAN", "augmented", {"tan": "tree augmented naive Bayes: each feature has at most one feature as parent"}),
    Entry("fan", "FAN", "augmented", {"fan:alpha=0.01": "forest augmented naive Bayes: TAN without arcs that are not significant"}),
    Entry(
        "kdb",
        "KDB",
        "augmented",
        {
            "kdb:k=2": "k-dependence Bayes: at most k features as parents; k=auto chooses k",
            "kdb:k=2,theta=0.03": "arcs only above theta bits; theta=auto, theta=chi2",
        },
        always=("k",),
    ),
    Entry(
        "skdb",
        "SKDB",
        "augmented",
        {"skdb:k_max=3": "KDB with k and the number of features chosen by leave-one-out; criterion=log, criterion=zero-one"},
        similar=("selective-kdb",),
    ),
    Entry(
        "aode",
        "AODE",
        "ande",
        {"aode": "averages models in which one feature is a parent of all others; subsumption=100, min_frequency=30"},
        similar=("a1de",),
    ),
    Entry("a2de", "A2DE", "ande", {"a2de": "the same with two features as parents; needs more cases, cubic in the features"}),
    Entry(
        "full",
        "Full",
        "augmented",
        {"full:shrinkage=0.1": "no independence assumption; with --numbers normal a quadratic discriminant; shared=true"},
    ),
    Entry(
        "k2",
        "K2",
        "unrestricted",
        {"k2:order=relevance": "K2: parents among earlier variables; order=given, criterion=bdeu, max_parents=3"},
    ),
    Entry(
        "hc",
        "HillClimb",
        "unrestricted",
        {"hc:criterion=bic": "hill climbing with a tabu list; criterion=bdeu, k2, bic, aic"},
        similar=("hillclimb", "hill-climb"),
    ),
    Entry("cb", "CB", "unrestricted", {"cb": "independence tests give an order, K2 the network; alpha=0.05, stopping_rule=score"}),
    Entry("pc", "PC", "unrestricted", {"pc": "the graph whose edges no independence test removes; alpha=0.01, test=chi2"}),
    Entry(
        "naive-as",
        "SelectiveNaive",
        "selective",
        {"naive-as": "naive Bayes on the features that make it most accurate"},
        similar=("selective",),
    ),
    Entry(
        "k2-as",
        "K2AS",
        "selective",
        {"k2-as:accept_ties=true": "features selected by the accuracy of K2, then CB or another learner: learner=kdb"},
        similar=("k2as",),
    ),
    Entry(
        "info-as",
        "InfoAS",
        "selective",
        {"info-as:metric=cgr": "features selected by conditional information, then CB; metric=cig, cdc; stopping_rule=chi2"},
        similar=("infoas", "cig", "cgr", "cdc"),
    ),
    Entry(
        "joined",
        "JoinedNaive",
        "naive_variants",
        {
            "bsej": "naive Bayes on joined attributes, search backward from all of them; max_joined=2",
            "fssj": "the same, search forward from none",
        },
        similar=("joinednaive",),
        presets={"fssj": {"search": "forward"}, "bsej": {"search": "backward"}},
    ),
    Entry(
        "knaive",
        "KNaive",
        "augmented",
        {"knaive:k=3,strongly_naive=true": "k features whose dependences cancel stay naive, the others are modelled jointly"},
        similar=("k-naive",),
    ),
    Entry(
        "recursive",
        "Recursive",
        "naive_variants",
        {"recursive:parity=split": "a hierarchy of naive Bayes classifiers; refit=false, prune=0.05, max_depth=2"},
        presets={"rbc": {}},
    ),
    Entry(
        "hidden",
        "HiddenNaive",
        "naive_variants",
        {"hidden:states=3": "naive Bayes with hidden variables; by default BIC chooses their numbers of states"},
        similar=("hiddennaive",),
    ),
    Entry("id3", "ID3", "trees", {"id3": "a classification tree by information gain; max_depth=3, min_rows=4"}),
    Entry(
        "c45",
        "C45",
        "trees",
        {"c45:confidence=0.1": "a classification tree by gain ratio, pruned; prune=false, subtree_raising=false, min_rows=2"},
        similar=("j48", "c4.5", "tree"),
    ),
)
"""All classifiers, in the order in which help texts list them."""

BY_WORD: Final[Mapping[str, Entry]] = {entry.word: entry for entry in REGISTRY}

PEERS: Final[Mapping[str, str]] = {
    "sk:rf": "scikit-learn's random forest",
    "sk:hgb": "scikit-learn's histogram gradient boosting",
    "sk:logistic": "scikit-learn's logistic regression on one-hot codes",
    "sk:tree": "scikit-learn's decision tree",
    "sk:nb": "scikit-learn's CategoricalNB, numbers in ten intervals",
}
"""The classifiers of scikit-learn that `evaluate` and `compare` accept, with their meaning; they cannot be saved."""

_COMMON_HELP: Final = {
    "nb:smoothing=0.5": "any model with another smoothing (m-estimate, friedman, backoff, ...)",
    "tan:calibration=leave-one-out": "most models with calibrated probabilities, for one pass more over the rows",
    "nb:prior=uniform": "most models with other prior probabilities of the classes; prior=1/3, prior=ill:1/well:3",
    "nb:class_weight=balanced": "any model with weights of the classes; class_weight=ill:3/well:1",
}


def entry_of(classifier: object) -> Entry | None:
    """The entry of a classifier, or None where its class is not one of the library's, such as a class derived from one.

    >>> from naivete import TAN
    >>> entry_of(TAN()).word
    'tan'
    """
    kind = type(classifier)
    known = (entry for entry in REGISTRY if (f"naivete.classifiers.{entry.module}", entry.name) == (kind.__module__, kind.__name__))
    return next(known, None)


def shares_counts(classifier: Any) -> bool:
    """Whether the classifier can learn from counts that a cross-validation has made once for several models.

    A calibration needs the rows themselves, weights of classes change the counts, and a prior by label needs the labels.
    """
    return (
        entry_of(classifier) is not None
        and bool(classifier.shares_counts)
        and (classifier.calibration, classifier.class_weight) == (None, None)
        and not isinstance(classifier.prior, Mapping)
    )


def with_densities(density: str) -> list[str]:
    """The names of the classes that can use a density for continuous features.

    >>> with_densities("kernel")
    ['NaiveBayes']
    """
    return [entry.name for entry in REGISTRY if density in entry.estimator.densities]


@cache
def help_text() -> str:
    """One line for each example specification, as `naivete --help` shows them."""
    lines = {example: meaning for entry in REGISTRY for example, meaning in entry.help.items()} | _COMMON_HELP
    lines["sk:rf, sk:hgb, sk:logistic"] = "scikit-learn's classifiers, for evaluate and compare; also sk:tree, sk:nb"
    return "models:\n" + "".join([f"  {example:<30} {meaning}\n" for example, meaning in lines.items()])
