"""A spectrum as plain data for model files, and back: every field is checked, and trees of contexts are built again from counts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from naivete._kernels.boosting import BoostedTrees
from naivete._kernels.contexts import ContextEstimate
from naivete.counts.contexts import LARGEST
from naivete.network.spectrum import Bins, Boosted, Linear, Member, Mixture, Spectrum, Tree
from naivete.storage.canonical_json import FieldError, expect, expect_keys, whole
from naivete.variables import CLASS, Variables

__all__ = ["plain_spectrum", "spectrum_of"]

MOST: Final = 100_000
"""The most structures, trees or parents in a file."""


def plain_spectrum(spectrum: Spectrum) -> dict[str, Any]:
    """Return the spectrum as plain values and arrays; its variables are stored beside it."""
    fields = {
        "class_weights": spectrum.class_weights,
        "coefficients": spectrum.coefficients,
        "depth": spectrum.depth,
        "features": list(spectrum.features),
        "informative": list(spectrum.informative),
        "intercepts": spectrum.intercepts,
        "linear": {"intercepts": spectrum.linear.intercepts, "tables": _joined(_flat(spectrum.linear.tables), "float64")},
        "main": _plain_member(spectrum.main),
        "members": [_plain_member(member) for member in spectrum.members],
        "trees": [[_plain_tree(tree) for tree in group] for group in spectrum.trees],
    }
    if spectrum.boosted is not None:
        trees = spectrum.boosted.trees
        fields["boosted"] = {
            "base": spectrum.boosted.base,
            "nodes": trees.nodes,
            "starts": trees.starts,
            "values": trees.values,
        }
    if spectrum.mixture is not None:
        shares, terms, temperatures = spectrum.mixture.shares, spectrum.mixture.terms, spectrum.mixture.temperatures
        fields["mixture"] = {"shares": list(shares), "temperatures": list(temperatures), "terms": list(terms)}
    return dict(sorted(fields.items()))


def _joined(arrays: Sequence[NDArray[Any]], dtype: str) -> NDArray[Any]:
    return np.concatenate([*(np.asarray(array, dtype) for array in arrays), np.empty(0, dtype)])


def _flat(tables: Sequence[NDArray[Any]]) -> list[NDArray[Any]]:
    return [table.ravel() for table in tables]


def _plain_member(member: Member) -> dict[str, Any]:
    return {
        "bins": _joined(member.bins, "int32"),
        "keys": _joined(member.keys, "int64"),
        "lengths": np.array([len(keys) for keys in member.keys], np.int64),
        "parents": [list(parents) for parents in member.parents],
        "rule": [float(value) for value in member.rule],
        "weights": _joined(member.weights, "float64"),
    }


def _plain_tree(tree: Tree) -> dict[str, Any]:
    return {"m": float(tree.m), "nodes": tree.nodes, "weights": tree.weights}


def spectrum_of(fields: Any, variables: Variables, where: str = "spectrum") -> Spectrum:
    """Return the spectrum of plain data; a FieldError is raised about a field that is not valid.

    Parameters
    ----------
    fields : what `plain_spectrum` returned.
    variables : the variables, the class last.
    where : what errors call the fields.
    """
    names = (
        "class_weights",
        "coefficients",
        "depth",
        "features",
        "informative",
        "intercepts",
        "linear",
        "main",
        "members",
        "trees",
    )
    expect_keys(fields, where, names, ("boosted", "mixture"))
    classes, features = variables[CLASS].card, len(variables) - 1
    depth = whole(fields["depth"], f"{where}.depth", 0, 64)
    main = _member(fields["main"], f"{where}.main", variables, depth)
    members = [
        _member(m, f"{where}.members[{i}]", variables, depth) for i, m in enumerate(_list(fields["members"], f"{where}.members"))
    ]
    groups = [_list(group, f"{where}.trees[{i}]") for i, group in enumerate(_list(fields["trees"], f"{where}.trees"))]
    trees = [[_tree(t, f"{where}.trees[{i}][{j}]", variables) for j, t in enumerate(group)] for i, group in enumerate(groups)]
    weighted = _positions(fields["features"], f"{where}.features", features)
    weights = _numbers(fields["class_weights"], f"{where}.class_weights", classes)
    if not ((weights >= 0).all() and weights.sum() > 0):
        raise FieldError(f"{where}.class_weights", "weights of at least 0 were expected, not all of them 0")
    informative = _positions(fields["informative"], f"{where}.informative", features)
    result = Spectrum(
        variables=variables,
        class_weights=weights,
        depth=depth,
        main=main,
        informative=informative,
        features=weighted,
        members=tuple(members),
        trees=tuple(map(tuple, trees)),
        linear=_linear(fields["linear"], f"{where}.linear", variables, informative),
        boosted=_boosted(fields["boosted"], f"{where}.boosted", variables) if "boosted" in fields else None,
        coefficients=np.empty(0),
        intercepts=_numbers(fields["intercepts"], f"{where}.intercepts", classes),
    )
    terms = len(result.term_names)
    coefficients = _numbers(fields["coefficients"], f"{where}.coefficients", terms)
    mixture = _mixture(fields["mixture"], f"{where}.mixture", terms) if "mixture" in fields else None
    return Spectrum(**{**vars(result), "coefficients": coefficients, "mixture": mixture})


def _list(value: Any, where: str) -> list[Any]:
    values: list[Any] = expect(value, where, list, "a list")
    if len(values) > MOST:
        raise FieldError(where, f"{len(values)} entries, where at most {MOST} were expected")
    return values


def _positions(value: Any, where: str, below: int) -> tuple[int, ...]:
    """Return different whole numbers from 0 up to a bound."""
    values = tuple(whole(v, f"{where}[{i}]", 0, below - 1) for i, v in enumerate(_list(value, where)))
    if len(set(values)) < len(values):
        raise FieldError(where, "a position occurs twice")
    return values


def _array(value: Any, where: str, dtype: str, axes: int = 1) -> NDArray[Any]:
    array: NDArray[Any] = expect(value, where, np.ndarray, "an array")
    if array.dtype != dtype or array.ndim != axes:
        raise FieldError(where, f"an array of {dtype} with {axes} axes was expected")
    return array


def _numbers(value: Any, where: str, length: int) -> NDArray[np.float64]:
    """Return finite numbers."""
    array = _array(value, where, "float64")
    if len(array) != length or not np.isfinite(array).all():
        raise FieldError(where, f"{length} finite numbers were expected")
    return array


def _real(value: Any, where: str, low: float, high: float) -> float:
    number: float = expect(value, where, float, "a number")
    if not low <= number <= high:
        raise FieldError(where, f"a number from {low} to {high} was expected")
    return number


def _bins(value: Any, where: str, variables: Variables, features: Sequence[int]) -> Bins:
    """Return the bins of some features: numbers without gaps, of which the largest, the last, is that of missing values."""
    array = _array(value, where, "int32")
    ends = np.cumsum([0, *(variables[x].card + 1 for x in features)])
    if len(array) != ends[-1]:
        raise FieldError(where, f"{ends[-1]} bins were expected")
    tables = [array[lo:hi] for lo, hi in pairwise(ends.tolist())]
    for table in tables:
        if not (table.min() >= 0 and table.max() == table[-1] < len(table)):
            raise FieldError(where, "a bin is out of range, or the last one is not the largest")
    return tuple(table.astype(np.uint32) for table in tables)


def _cells(keys: NDArray[Any], weights: NDArray[Any], size: int, where: str) -> tuple[NDArray[np.uint64], NDArray[np.float64]]:
    """Return the cells of a table, checked: increasing positions inside the table, and finite weights above zero."""
    if size > LARGEST:
        raise FieldError(where, "the table has too many cells")
    if len(keys) and not (keys[0] >= 0 and int(keys[-1]) < size and (keys[1:] > keys[:-1]).all()):
        raise FieldError(where, "the positions of the cells do not increase, or one is outside of the table")
    if len(keys) != len(weights) or not (np.isfinite(weights).all() and (weights > 0).all()):
        raise FieldError(where, "a weight above zero was expected for every cell")
    return keys.astype(np.uint64), weights


def _member(fields: Any, where: str, variables: Variables, depth: int) -> Member:
    expect_keys(fields, where, ("bins", "keys", "lengths", "parents", "rule", "weights"))
    features, classes = len(variables) - 1, variables[CLASS].card
    bins = _bins(fields["bins"], f"{where}.bins", variables, range(features))
    lists = _list(fields["parents"], f"{where}.parents")
    lengths = _array(fields["lengths"], f"{where}.lengths", "int64")
    if len(lists) != features or len(lengths) != features or (lengths < 0).any():
        raise FieldError(where, f"parents and cells of {features} features were expected")
    parents = tuple(_positions(value, f"{where}.parents[{x}]", features) for x, value in enumerate(lists))
    if any(x in chosen or len(chosen) > depth for x, chosen in enumerate(parents)):
        raise FieldError(f"{where}.parents", f"a feature is its own parent, or has more than {depth} parents")
    rule = [_real(value, f"{where}.rule[{i}]", 0.0, 1e9) for i, value in enumerate(_list(fields["rule"], f"{where}.rule"))]
    if len(rule) != len(ContextEstimate._fields) or not rule[0] > 0 or not rule[1] <= 1:
        raise FieldError(f"{where}.rule", "three numbers were expected, the first above 0, the second at most 1")
    keys, weights = _array(fields["keys"], f"{where}.keys", "int64"), _array(fields["weights"], f"{where}.weights", "float64")
    if not len(keys) == len(weights) == sum(lengths.tolist()):
        raise FieldError(where, "the numbers of keys, weights and cells differ")
    cells, start = [], 0
    for x, length in enumerate(lengths.tolist()):
        size = math.prod(int(bins[v][-1]) + 1 for v in (*parents[x], x)) * classes
        part = slice(start, start + length)
        cells.append(_cells(keys[part], weights[part], size, f"{where}.keys"))
        start += length
    return Member(bins, parents, tuple(k for k, _ in cells), tuple(w for _, w in cells), classes, ContextEstimate(*rule))


def _linear(fields: Any, where: str, variables: Variables, features: Sequence[int]) -> Linear:
    """Return the linear scores of features: for each a table of finite numbers, of its states and missing values."""
    expect_keys(fields, where, ("intercepts", "tables"))
    classes = variables[CLASS].card
    ends = np.cumsum([0, *((variables[x].card + 1) * classes for x in features)]).tolist()
    numbers = _numbers(fields["tables"], f"{where}.tables", ends[-1])
    tables = (numbers[lo:hi].reshape(-1, classes) for lo, hi in pairwise(ends))
    return Linear(tuple(tables), _numbers(fields["intercepts"], f"{where}.intercepts", classes))


def _tree(fields: Any, where: str, variables: Variables) -> Tree:
    """Return a tree, checked: every row ends at a leaf, and every node has finite weights of at least zero."""
    expect_keys(fields, where, ("m", "nodes", "weights"))
    nodes, weights = (
        _array(fields["nodes"], f"{where}.nodes", "int64", 2),
        _array(fields["weights"], f"{where}.weights", "float64", 2),
    )
    if nodes.shape != (len(nodes), 3) or not len(nodes) or weights.shape != (len(nodes), variables[CLASS].card):
        raise FieldError(where, "nodes of three numbers and the weights of their classes were expected")
    if not (np.isfinite(weights).all() and (weights >= 0).all()):
        raise FieldError(f"{where}.weights", "finite weights of at least 0 were expected")
    _check_nodes(nodes, f"{where}.nodes", variables)
    return Tree(nodes, weights, _real(fields["m"], f"{where}.m", 1e-9, 1e9))


def _check_nodes(nodes: NDArray[Any], where: str, variables: Variables, binary: bool = False) -> None:
    """Refuse nodes of a tree unless every row ends at a leaf; with `binary`, also nodes that have more than two branches."""
    inner = np.flatnonzero(nodes[:, 0] >= 0)
    column, test, first = nodes[inner].T
    if (column >= len(variables) - 1).any():
        raise FieldError(where, "a column is out of range")
    states = np.array([v.card for v in variables[:CLASS]], np.int64)[column]
    branches = np.where(test == -1, states + 1, 2)
    if (test >= states + 1).any() or (test < -2 - states).any() or (binary and (test == -1).any()):
        raise FieldError(where, "a test is out of range")
    if (first <= inner).any() or (first > len(nodes) - branches).any():
        raise FieldError(where, "a child does not come after its parent, or there is none")


def _boosted(fields: Any, where: str, variables: Variables) -> Boosted:
    """Return boosted trees, checked: every row ends at a leaf of each tree, and all values are finite."""
    expect_keys(fields, where, ("base", "nodes", "starts", "values"))
    classes = variables[CLASS].card
    nodes = _array(fields["nodes"], f"{where}.nodes", "int64", 2)
    if nodes.shape != (len(nodes), 3):
        raise FieldError(f"{where}.nodes", "nodes of three numbers were expected")
    starts = _array(fields["starts"], f"{where}.starts", "int64")
    if not len(starts) or starts[0] != 0 or starts[-1] != len(nodes) or (starts[1:] <= starts[:-1]).any():
        raise FieldError(f"{where}.starts", "increasing positions from 0 to the number of nodes were expected")
    if (len(starts) - 1) % (classes - (classes == 2)):
        raise FieldError(f"{where}.starts", "the same number of trees was expected for each class")
    for lo, hi in pairwise(starts.tolist()):
        _check_nodes(nodes[lo:hi], f"{where}.nodes", variables, binary=True)
    trees = BoostedTrees(nodes, _numbers(fields["values"], f"{where}.values", len(nodes)), starts)
    return Boosted(trees, _numbers(fields["base"], f"{where}.base", classes))


def _positions_with_repeats(value: Any, where: str, below: int) -> tuple[int, ...]:
    return tuple(whole(v, f"{where}[{i}]", 0, below - 1) for i, v in enumerate(_list(value, where)))


def _mixture(fields: Mapping[str, Any], where: str, terms: int) -> Mixture:
    expect_keys(fields, where, ("shares", "temperatures", "terms"))
    shares = tuple(_real(v, f"{where}.shares", 0.0, 1.0) for v in _list(fields["shares"], f"{where}.shares"))
    temperatures = tuple(
        _real(v, f"{where}.temperatures", 0.0, 1e6) for v in _list(fields["temperatures"], f"{where}.temperatures")
    )
    positions = _positions_with_repeats(fields["terms"], f"{where}.terms", terms)
    if len(shares) != len(positions) + 2 or len(temperatures) != len(positions) or not abs(sum(shares) - 1) < 1e-9:
        raise FieldError(where, "the numbers of shares, terms and temperatures differ, or the shares do not sum to 1")
    return Mixture(shares, positions, temperatures)
