"""The text of the parts of an exported Python file."""

from typing import Final

__all__ = [
    "DENSITIES",
    "DOCSTRING",
    "ENCODE",
    "EVIDENCE",
    "FALLBACK",
    "HIERARCHY",
    "JOINT",
    "JOINT_STEP",
    "MARGINALIZED",
    "POSTERIOR",
    "PREDICT",
    "STEPS",
    "TREE",
]

DOCSTRING: Final = '''"""A classifier exported by naivete.

`predict_proba(row)` returns the probabilities of CLASSES, and `predict(row)` the most probable class. A row is a dictionary from
the names of the columns to their values: text, numbers or booleans as in training. A value is missing if it is None, NaN or the
empty text, or if the row has no such column. Other columns are ignored. Missing values are marginalized exactly. ValueError is
raised for infinite numbers, for text in numeric columns, and for values that are to be refused.

This file needs Python 3.8 or later, and no other package. The comment below describes the model and its columns.
"""

'''

ENCODE: Final = '''
def encode(row):
    """Return the code of each column, None if it is missing: the position of a state or an interval, or a number."""
    return [_code(column, row.get(column[0])) for column in COLUMNS]


def _code(column, value):
    name, kind, known, missing, unseen = column
    if kind == "unused":
        return 0
    if hasattr(value, "item"):
        value = value.item()  # a scalar of NumPy
    if value is None or value != value or value == "":
        return missing
    if isinstance(value, float) and not isfinite(value):
        raise ValueError("column %r: %r is not a finite number" % (name, value))
    if kind == "states":
        code = known.get((isinstance(value, bool), value), unseen)
        if code == REFUSED:
            raise ValueError("column %r: %r did not occur in training" % (name, value))
        return code
    if isinstance(value, str):
        raise ValueError("column %r: %r is not a number" % (name, value))
    try:
        number = float(value)
    except OverflowError:
        raise ValueError("column %r: an integer is too large for a number" % (name,)) from None
    return bisect_left(known, number) if kind == "intervals" else number - known


def _cell(codes, members, strides):
    """Return the row of a table for the codes of its members, None if one is missing."""
    cell = 0
    for member, stride in zip(members, strides):
        if codes[member] is None:
            return None
        cell += codes[member] * stride
    return cell


def _by_class(values):
    """Return a value for each class, of a table that has one for each or one for all."""
    return values if len(values) == len(CLASSES) else values * len(CLASSES)


def _add_table(joint, codes, table):
    _, members, strides, logs = TABLES[table]
    cell = _cell(codes, members, strides)
    return joint if cell is None else [a + b for a, b in zip(joint, _by_class(logs[cell]))]

'''

POSTERIOR: Final = '''
def _normalized(joint):
    """Return probabilities from log-probabilities. The order of additions matters for the last bits."""
    top = max(joint)
    parts = [exp(a - top) for a in joint]
    total = 0.0
    for part in parts:
        total += part
    return [part / total for part in parts]


def _posterior(codes):
    joint = [0.0] * len(CLASSES)
    for table in ADDED:
        joint = _add_table(joint, codes, table)
{steps}    return _normalized(joint)

'''

STEPS: Final = {
    "densities": "    joint = _add_densities(joint, codes)\n",
    "marginalized": (
        "    if any(codes[x] is None for x in PARENTS):\n"
        "        joint = [a + _marginalized(codes, c) for c, a in enumerate(joint)]\n"
    ),
    "constant": "    for table in CONSTANT:\n        joint = _add_table(joint, codes, table)\n",
    "fallback": "    if max(joint) == -inf:\n        joint = _fallback(codes)\n",
    "temperature": "    joint = [TEMPERATURE * a for a in joint]\n",
}

DENSITIES: Final = '''
def _add_densities(joint, codes):
    """Add the log-densities of the continuous columns that are not missing."""
{joint}    for x, members, strides, linked, means, deviations, peaks, slopes in DENSITIES:
        cell = _cell(codes, members, strides)
        if cell is None or any(codes[y] is None for y in (x, *linked)):
            continue
        logs = []
        for mean, deviation, peak, coefficients in zip(means[cell], deviations[cell], peaks[cell], slopes[cell]):
            expected = 0.0
            for y, slope in zip(linked, coefficients):
                expected += codes[y] * slope
            distance = min(max((codes[x] - expected - mean) / deviation, -FAR), FAR)
            logs.append(peak - 0.5 * distance * distance)
        joint = [a + b for a, b in zip(joint, _by_class(logs))]
    return joint

'''

JOINT_STEP: Final = """    if any(codes[x] is None for x in CONTINUOUS):
        return [a + _joint_density(codes, MEANS[c], COVARIANCES[c]) for c, a in enumerate(joint)]
"""

JOINT: Final = '''
def _joint_density(codes, means, covariances):
    """Return the log-density of the observed continuous columns in a class, by the Cholesky root of their covariances."""
    observed = [i for i, x in enumerate(CONTINUOUS) if codes[x] is not None]
    root, distances, result = [], [], 0.0
    for i in observed:
        row = []
        for j, other in enumerate(root):
            row.append((covariances[i][observed[j]] - sum(a * b for a, b in zip(row, other))) / other[j])
        rest = covariances[i][i] - sum(a * a for a in row)
        if not rest > 0:
            raise ValueError("the covariances of the observed columns are singular")
        row.append(sqrt(rest))
        distance = (codes[CONTINUOUS[i]] - means[i] - sum(a * b for a, b in zip(row, distances))) / row[-1]
        root.append(row)
        distances.append(distance)
        distance = min(max(distance, -FAR), FAR)
        result -= 0.5 * (log(2 * pi) + distance * distance) + log(row[-1])
    return result

'''

MARGINALIZED: Final = '''
def _marginalized(codes, c):
    """Return the logarithm, in class c, of the product of the tables with missing members, summed over their states."""
    hidden, summing_to_one = _hidden(codes)
    factors = []
    for variable, members, strides, logs in TABLES:
        free = [m for m in members if m in hidden]
        if free and variable not in summing_to_one and CARDS[variable] > 1:
            first = sum(codes[m] * s for m, s in zip(members, strides) if m not in hidden)
            steps = [s for m, s in zip(members, strides) if m in hidden]
            factors.append((free, {{
                states: _by_class(logs[first + sum(a * b for a, b in zip(states, steps))])[c]
                for states in product(*(range(CARDS[m]) for m in free))
            }}))
    for h in ORDER:
        if h in hidden:
            used = [factor for factor in factors if h in factor[0]]
            factors = [factor for factor in factors if h not in factor[0]] + [_summed(used, h)]
    return sum(message[()] for _, message in factors)


def _hidden(codes):
    """Return the missing variables with an observed descendant, and the others, whose tables sum to one."""
    missing = {{table[0] for table in TABLES if table[0] >= 0 and codes[table[0]] is None}}
    hidden = set(missing)
    for v, *_ in reversed(TABLES):
        if v in hidden and not any(y in hidden or (y not in missing and CARDS[y] > 1) for y in CHILDREN[v]):
            hidden.discard(v)
    return hidden, missing - hidden


def _summed(factors, h):
    """Return the product of factors, summed over the states of h, in logarithms."""
    scope = sorted({{v for variables, _ in factors for v in variables}} - {{h}})
    cells = CARDS[h] * len(CLASSES)
    for v in scope:
        cells *= CARDS[v]
    if cells > {cells}:
        raise ValueError("too many values are missing together: their sum needs %d terms" % cells)
    message = {{}}
    for states in product(*(range(CARDS[v]) for v in scope)):
        state_of = dict(zip(scope, states))
        terms = []
        for state_of[h] in range(CARDS[h]):
            terms.append(sum(logs[tuple(state_of[v] for v in variables)] for variables, logs in factors))
        top = max(terms)
        message[states] = top if top == -inf else top + log(sum(exp(term - top) for term in terms))
    return scope, message

'''

FALLBACK: Final = '''
def _fallback(codes):
    """Return the log prior of the classes with the fewest factors of zero, for a row that is impossible in every class."""
    zeros = [0] * len(CLASSES)
    for table in ADDED:
        _, members, strides, logs = TABLES[table]
        cell = _cell(codes, members, strides)
        if cell is not None:
            zeros = [a + (b == -inf) for a, b in zip(zeros, logs[cell])]
    fewest = [zero == min(zeros) for zero in zeros]
    joint = [a if few else -inf for a, few in zip(PRIOR[{row}], fewest)]
    return joint if max(joint) > -inf else [0.0 if few else -inf for few in fewest]

'''

TREE: Final = '''
def _with_leaf(codes):
    """Return the probabilities; a row in which a tested value is missing is divided among the branches of that node."""
    shares, result = {0: 1.0}, [0.0] * len(CLASSES)
    for node, (feature, children, branches, leaf) in enumerate(TREE):
        if node not in shares:
            continue
        if feature < 0:
            result = [a + b * shares[node] for a, b in zip(result, _posterior(codes + [leaf]))]
        elif codes[feature] is None:
            shares.update((child, shares[node] * part) for child, part in branches)
        else:
            shares[children[codes[feature]]] = shares[node]
    return result

'''

HIERARCHY: Final = '''
def _with_classifier(codes):
    """Return the probabilities of the last classifier of the hierarchy that the row reaches."""
    node = 0
    while True:
        posterior = _posterior(codes + [node])
        feature, children = HIERARCHY[node]
        rounded = [round(p * 1e12) for p in posterior]
        branch = codes[feature] if feature >= 0 else rounded.index(max(rounded))
        if branch is None or children[branch] < 0:
            return posterior
        node = children[branch]

'''

PREDICT: Final = '''
def predict_proba(row):
    """Return the probabilities of CLASSES, in this order, given the values of a row."""
    codes = encode(row)
{evidence}    return {posterior}


def predict(row):
    """Return the most probable class given the values of a row, the first of equally probable ones."""
    probabilities = predict_proba(row)
    return CLASSES[probabilities.index(max(probabilities))]
'''

EVIDENCE: Final = """    if all(codes[x] is None for x in EVIDENCE):
        return list(WITHOUT_EVIDENCE)
"""
