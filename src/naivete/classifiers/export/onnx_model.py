"""Export to ONNX: a graph of standard operators in double precision, for onnxruntime and other engines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np

from naivete import _kernels
from naivete._kernels.codes import Bools, Numbers
from naivete.classifiers.export.tabular_form import (
    MARGINALIZED,
    REFUSED,
    Gaussian,
    Input,
    SumOfTables,
    Table,
    exact_number,
)
from naivete.errors import ParameterError, quoted
from naivete.inference.log_odds import BITS
from naivete.network.densities import FAR
from naivete.variables import State, type_word

__all__ = ["onnx_model"]

OPSETS: Final = {"": 17, "ai.onnx.ml": 3}
"""The versions of the operators; every onnxruntime since 1.13 has them."""
_DESCRIPTION: Final = """\
A classifier exported by naivete. Inputs have the shape (rows, 1): texts, "" if missing; numbers and booleans as doubles, NaN if
missing. A missing value is left out, which is exact unless an observed value depends on it. Then, and for refused values and
infinite numbers, the probabilities are NaN and `exact` is false.
"""


def onnx_model(model: SumOfTables, *, contributions: bool = False) -> bytes:
    """Return a serialized ONNX model with the outputs label, probabilities and exact.

    Parameters
    ----------
    model : the sum over tables.
    contributions : whether there is a fourth output, what each table and density adds to the score of each class, in bits, with
        the shape (rows, tables and densities, classes). The labels of the second axis are in the metadata of the model.
    """
    if not isinstance(contributions, bool):
        raise ParameterError(f"contributions={quoted(contributions)}: choose True or False")
    try:
        import onnx
    except ImportError as error:
        raise ParameterError("to='onnx' needs the package onnx; install it with: pip install 'naivete[onnx]'") from error
    _check(model)
    graph = _Graph(onnx, model)
    probabilities = graph.tree() if model.is_plain_tree else graph.normalized(graph.joint())
    graph.outputs(probabilities, contributions)
    return graph.serialized()


def _check(model: SumOfTables) -> None:
    if model.hidden or model.hierarchy is not None or (model.tree is not None and not model.is_plain_tree):
        kind = "hidden variables" if model.hidden else "a hierarchy of classifiers"
        raise ParameterError(f"{model.title} has {kind}, which an ONNX graph cannot hold; export to Python or C")
    if any(density.members for density in model.densities):
        raise ParameterError("a normal density that depends on a discrete column cannot be exported to ONNX; export to Python or C")
    if not any(column.kind != "unused" for column in model.inputs):
        raise ParameterError(f"{model.title} uses no column, and an ONNX graph needs an input")
    for column in model.inputs:
        if len({type_word(state) for state in column.states}) > 1:
            raise ParameterError(f"column {quoted(column.name)} has states of several types; an input in ONNX has one type")
    for text in (str(part) for part in (*model.classes, *(v for c in model.inputs for v in (c.name, *c.states)))):
        if any("\ud800" <= character <= "\udfff" for character in text):
            raise ParameterError(
                f"{quoted(text)} contains an unpaired surrogate, which ONNX cannot store; rename it before learning"
            )


class _Graph:
    """A graph under construction: nodes, constants and inputs, with unused names for all results.

    Parameters
    ----------
    onnx : the package.
    model : the sum over tables.
    """

    def __init__(self, onnx: Any, model: SumOfTables) -> None:
        self.onnx, self.model = onnx, model
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.terms: list[str] = []  # (row, 1, class)
        self.labels: list[str] = []
        names = [str(column.name) for column in model.inputs]
        self.names = [name if name and names.count(name) == 1 else f"column {x}" for x, name in enumerate(names)]
        self.prefix = "/"
        while any(name.startswith(self.prefix) for name in self.names):
            self.prefix += "/"
        self.codes: dict[int, str] = {}  # (row, 1); the number of states if missing
        self.values: dict[int, str] = {}  # (row, 1); NaN if missing
        self.refused: list[str] = []  # (row, 1); NaN if a value is refused, else 0
        for x, column in enumerate(model.inputs):
            if column.kind != "unused":
                self._encode(x, column)

    def node(self, operator: str, *inputs: str, domain: str = "", **attributes: Any) -> str:
        """Add a node, and return the name of its result."""
        result = f"{self.prefix}{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(operator, list(inputs), [result], domain=domain, **attributes))
        return result

    def constant(self, value: Any, dtype: Any = np.float64) -> str:
        """Add a constant, and return its name."""
        name = f"{self.prefix}c{len(self.constants)}"
        array = np.array(value, object if dtype is str else dtype)
        self.constants.append(self.onnx.numpy_helper.from_array(array, name))
        return name

    def total(self, value: str, axis: int, *, keep: bool = True) -> str:
        """Add the sum over an axis."""
        return self.node("ReduceSum", value, self.constant([axis], np.int64), keepdims=int(keep))

    def where(self, condition: str, then: Any, otherwise: Any, dtype: Any = np.float64) -> str:
        """Add a choice between two results or constants."""
        parts = [part if isinstance(part, str) else self.constant(part, dtype) for part in (then, otherwise)]
        return self.node("Where", condition, *parts)

    def _encode(self, x: int, column: Input) -> None:
        card, name = self.model.cards[x], self.names[x]
        missing = card if column.missing == MARGINALIZED else column.missing
        unseen = {MARGINALIZED: card, REFUSED: card + 1}.get(column.unseen, column.unseen)
        if self._is_text(column):
            codes = {"": missing, **{str(state): code for code, state in enumerate(column.states) if state != ""}}
            attributes = {"keys_strings": [*codes], "values_int64s": [*codes.values()], "default_int64": unseen}
            code = self.node("LabelEncoder", name, domain="ai.onnx.ml", **attributes)
        else:
            is_missing = self.node("IsNaN", name)
            self.refused.append(self.where(self.node("IsInf", name), np.nan, 0.0))
            if column.kind == "number":
                self.values[x] = self.node("Sub", name, self.constant(column.origin))
                return
            code = self.where(is_missing, missing, self._code(name, column, unseen), np.int64)
        if column.unseen == REFUSED and column.kind == "states":
            refused = self.node("Greater", code, self.constant(card, np.int64))
            self.refused.append(self.where(refused, np.nan, 0.0))
            code = self.node("Min", code, self.constant([[card]], np.int64))
        self.codes[x] = code

    def _code(self, name: str, column: Input, unseen: int) -> str:
        """Add the code of a number: the number of cut points below it, or the position of the state that it equals."""
        if column.kind == "intervals":
            above = self.node("Greater", name, self.constant([[*column.cuts, np.inf]]))
            return self.total(self.node("Cast", above, to=self.onnx.TensorProto.INT64), 1)
        states = [exact_number(float(s) if isinstance(s, bool) else s, "ONNX") for s in column.states if not isinstance(s, str)]
        equal = self.node("Cast", self.node("Equal", name, self.constant([[*states, np.nan]])), to=self.onnx.TensorProto.INT64)
        position = self.total(self.node("Mul", equal, self.constant([[*range(1, len(states) + 2)]], np.int64)), 1)
        known = self.node("Greater", position, self.constant(0, np.int64))
        return self.where(known, self.node("Sub", position, self.constant(1, np.int64)), unseen, np.int64)

    def _is_text(self, column: Input) -> bool:
        return column.kind == "states" and all(isinstance(state, str) for state in column.states)

    def joint(self) -> str:
        """Add the sum of all terms, with the fallback for impossible rows; NaN for rows that are refused.  # (row, class)"""
        model = self.model
        self.terms = [self._gathered(table, _extended(model, table)) for table in model.added]
        self.terms += [self._density(density) for density in model.densities]
        self.labels = [str(model.target if v < 0 else model.inputs[v].name) for v in self._variables()]
        joint = self.total(self.node("Concat", *self.terms, axis=1) if len(self.terms) > 1 else self.terms[0], 1, keep=False)
        others = {v for v, _ in model.sums} - {table.variable for table in model.added}
        for table in model.families:
            if table.variable in others or any(table is constant for constant in model.constant):
                zeros = table._replace(logs=np.where(np.isneginf(table.logs), table.logs, 0.0))
                term = self._gathered(table, _extended(model, zeros))
                joint = self.node("Add", joint, self.total(term, 1, keep=False))
        for refused in self.refused:
            joint = self.node("Add", joint, refused)
        return self._with_fallback(joint) if model.has_zeros else joint

    def _variables(self) -> list[int]:
        return [table.variable for table in self.model.added] + [density.variable for density in self.model.densities]

    def _gathered(self, table: Table, values: Numbers) -> str:
        """Add the values of the cell of each row in a table whose members have one more state, missing.  # (row, 1, class)"""
        cells = np.cumprod([1, *(self.model.cards[m] + 1 for m in reversed(table.members))])[::-1].tolist()
        used = [(m, stride) for m, stride in zip(table.members, cells[1:], strict=True) if m in self.codes]
        index = self._rows()
        for m, stride in used:
            index = self.node("Add", index, self.node("Mul", self.codes[m], self.constant(stride, np.int64)))
        return self.node("Gather", self.constant(values), index, axis=0)

    def _rows(self) -> str:
        """Add a zero for each row.  # (row, 1)"""
        if self.codes:
            return self.node("Mul", next(iter(self.codes.values())), self.constant(0, np.int64))
        return self.node("Cast", self.node("IsInf", next(iter(self.values.values()))), to=self.onnx.TensorProto.INT64)

    def _density(self, density: Gaussian) -> str:
        value = self.values[density.variable]
        rest = self.node("Sub", value, self.constant(density.means))
        for i, p in enumerate(density.linked):
            rest = self.node("Sub", rest, self.node("Mul", self.values[p], self.constant(density.slopes[..., i])))
        distance = self.node("Div", rest, self.constant(density.deviations))
        distance = self.node("Clip", distance, self.constant(-FAR), self.constant(FAR))
        square = self.node("Mul", self.node("Mul", distance, self.constant(0.5)), distance)
        term = self.node("Sub", self.constant(np.broadcast_to(density.peaks, (1, len(self.model.classes)))), square)
        for p in density.linked:
            term = self.where(self.node("IsNaN", self.values[p]), np.nan, term)
        term = self.where(self.node("IsNaN", value), 0.0, term)
        return self.node("Unsqueeze", term, self.constant([1], np.int64))

    def _with_fallback(self, joint: str) -> str:
        """Add the log prior of the classes with the fewest factors of zero, for rows that are impossible in every class."""
        zeros = self.constant(np.zeros((1, len(self.model.classes))))
        for table in self.model.added:
            if table.has_zeros:
                counts = _extended(self.model, table._replace(logs=np.isneginf(table.logs).astype(np.float64)))
                term = self._gathered(table, np.nan_to_num(counts, nan=0.0))
                zeros = self.node("Add", zeros, self.total(term, 1, keep=False))
        fewest = self.node("Equal", zeros, self.node("ReduceMin", zeros, axes=[1], keepdims=1))
        prior = self.where(fewest, self.model.fallback[:1], -np.inf)
        without = self._is_impossible(prior)
        prior = self.where(without, self.where(fewest, 0.0, -np.inf), prior)
        return self.where(self._is_impossible(joint), prior, joint)

    def _is_impossible(self, joint: str) -> str:
        return self.node("Equal", self.node("ReduceMax", joint, axes=[1], keepdims=1), self.constant(-np.inf))

    def normalized(self, joint: str) -> str:
        """Add the probabilities of log-probabilities; NaN for rows with a NaN."""
        if self.model.temperature != 1:
            joint = self.node("Mul", joint, self.constant(self.model.temperature))
        refused = self.node("IsNaN", self.total(joint, 1))
        safe = self.where(refused, 0.0, joint)
        powers = self.node("Exp", self.node("Sub", safe, self.node("ReduceMax", safe, axes=[1], keepdims=1)))
        return self.where(refused, np.nan, self.node("Div", powers, self.total(powers, 1)))

    def tree(self) -> str:
        """Add the probabilities of a tree: the sum over its leaves of the share of the row times the probabilities there."""
        model = self.model
        posteriors = _kernels.posterior(model.added[0].logs)
        shares: dict[int, str | None] = {0: None}
        leaves, ones = [], self.node("Add", self.node("Cast", self._rows(), to=self.onnx.TensorProto.DOUBLE), self.constant(1.0))
        for node, below, values in _edges(model):
            if below is None:
                leaves.append(shares[node] or ones)
                continue
            feature = int(model.tree.features[node]) if model.tree is not None else 0
            part = self.node("Gather", self.constant(values), self.codes[feature], axis=0)
            parent = shares[node]
            shares[below] = part if parent is None else self.node("Mul", parent, part)
        all_shares = self.node("Concat", *leaves, axis=1) if len(leaves) > 1 else leaves[0]
        result = self.node("MatMul", all_shares, self.constant(posteriors))
        result = self.where(self._no_evidence(), np.asarray(model.no_evidence)[None], result)
        for refused in self.refused:
            result = self.node("Add", result, refused)
        self.terms, self.labels = [self.node("Unsqueeze", result, self.constant([1], np.int64))], [str(model.target)]
        return result

    def _no_evidence(self) -> str:
        """Add whether all columns are missing.  # (row, 1)"""
        result = self.node("Equal", self._rows(), self.constant(0, np.int64))
        for x in self.model.evidence:
            result = self.node("And", result, self.node("Equal", self.codes[x], self.constant(self.model.cards[x], np.int64)))
        return result

    def outputs(self, probabilities: str, contributions: bool) -> None:
        """Add the outputs of the graph."""
        helper, types, classes = self.onnx.helper, self.onnx.TensorProto, len(self.model.classes)
        labels, dtype, kind = _labels(self.model.classes, types)
        best = self.node("ArgMax", probabilities, axis=1, keepdims=0)
        exact = self.node("Not", self.node("IsNaN", self.total(probabilities, 1, keep=False)))
        results = {
            "label": (self.node("Gather", self.constant(labels, dtype), best, axis=0), kind, [None]),
            "probabilities": (probabilities, types.DOUBLE, [None, classes]),
            "exact": (exact, types.BOOL, [None]),
        }
        if contributions:
            if self.model.is_plain_tree:
                raise ParameterError("contributions=True: a tree is not a sum over tables; its probabilities are those of leaves")
            terms = self.node("Concat", *self.terms, axis=1) if len(self.terms) > 1 else self.terms[0]
            bits = self.node("Mul", terms, self.constant(BITS))
            results["contributions"] = bits, types.DOUBLE, [None, len(self.terms), classes]
        self.results = []
        for name, (result, kind, shape) in results.items():
            while name in self.names:
                name += "_"
            self.nodes.append(helper.make_node("Identity", [result], [name]))
            self.results.append(helper.make_tensor_value_info(name, kind, shape))

    def serialized(self) -> bytes:
        """Return the bytes of the model, after a check of the graph."""
        helper, types = self.onnx.helper, self.onnx.TensorProto
        inputs = [
            helper.make_tensor_value_info(self.names[x], types.STRING if self._is_text(column) else types.DOUBLE, [None, 1])
            for x, column in enumerate(self.model.inputs)
            if column.kind != "unused"
        ]
        text = _DESCRIPTION + "".join(f"{line}\n" for line in self.model.header())
        graph = helper.make_graph(self.nodes, "naivete", inputs, self.results, self.constants, doc_string=text)
        opsets = [helper.make_opsetid(domain, version) for domain, version in OPSETS.items()]
        model = helper.make_model(graph, producer_name="naivete", opset_imports=opsets, ir_version=8)
        helper.set_model_props(model, {f"term {i}": label for i, label in enumerate(self.labels)})
        self.onnx.checker.check_model(model)
        return bytes(model.SerializeToString(deterministic=True))


def _labels(classes: Sequence[State], types: Any) -> tuple[list[Any], Any, int]:
    """Return the labels, and their types in NumPy and in ONNX."""
    if all(type(label) is bool for label in classes):
        return [*classes], np.bool_, types.BOOL
    if all(type(label) is int and abs(label) < 2**63 for label in classes):
        return [*classes], np.int64, types.INT64
    if all(type(label) is float for label in classes):
        return [*classes], np.float64, types.DOUBLE
    return [str(label) for label in classes], str, types.STRING


def _extended(model: SumOfTables, table: Table) -> Numbers:
    """Return the values of a table whose members have one more state, missing.  # (cell, class or 1)

    A cell whose own variable is missing is 0: the table sums to one. One whose parent is missing is NaN, where it needs a sum.
    """
    cards = [model.cards[m] for m in table.members]
    values = np.zeros((*(card + 1 for card in cards), table.logs.shape[1]))
    values[tuple(slice(card) for card in cards)] = table.logs.reshape(*cards, -1)
    needs_sum = dict(model.sums).get(table.variable, ())
    absent = np.indices(values.shape[:-1]) == np.array(cards).reshape(-1, *(1 for _ in cards)) if cards else np.zeros((0,))
    parent_missing: Bools = np.zeros(values.shape[:-1], bool)
    own_missing = np.zeros(values.shape[:-1], bool)
    for i, m in enumerate(table.members):
        if m == table.variable:
            own_missing = absent[i]
        elif m in needs_sum:
            parent_missing = parent_missing | absent[i]
    values[parent_missing & ~own_missing] = np.nan
    return values.reshape(-1, table.logs.shape[1])


def _edges(model: SumOfTables) -> Iterator[tuple[int, int | None, Numbers]]:
    """Yield each leaf with None, and each inner node with each child and its share by the state of the feature, missing last."""
    tree = model.tree
    assert tree is not None
    first, count, child, share = tree.branches
    for node, feature in enumerate(tree.features.tolist()):
        if feature < 0:
            yield node, None, np.zeros(0)
            continue
        parts = {int(child[b]): float(share[b]) for b in range(first[node], first[node] + count[node])}
        children = tree.children_of(node)
        for below in np.unique(children).tolist():
            yield node, below, np.append(children == below, parts.get(below, 0.0)).astype(np.float64)
