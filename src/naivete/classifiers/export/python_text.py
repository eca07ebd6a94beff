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
the names of the columns to their values: text, numbers or booleans as in training. A value is missing if it is None, NaN, NA of
pandas or the empty text, or if the row has no such column. Other columns are ignored. Missing values are marginalized exactly.
ValueError is raised for infinite numbers, for text in numeric columns, and for values that are to be refused.

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
    if value is None or type(value).__name__ in ("NAType", "NaTType") or value != value or value == "":
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
    "marginalized": ("    if any(codes[x] is None for x in PARENTS):\n        joint = _add_marginalized(joint, codes)\n"),
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
def _minus_products(value, first, second):
    for a, b in zip(first, second):
        value -= a * b
    return value


def _joint_density(codes, means, covariances):
    """Return the log-density of the observed continuous columns in a class, by the Cholesky root of their covariances."""
    observed = [i for i, x in enumerate(CONTINUOUS) if codes[x] is not None]
    root, distances, result = [], [], 0.0
    for i in observed:
        row, difference = [], codes[CONTINUOUS[i]] - means[i]
        for j, other in enumerate(root):
            row.append(_minus_products(covariances[i][observed[j]], row, other) / other[j])
        rest = _minus_products(covariances[i][i], row, row)
        if not rest > 0:
            raise ValueError("the covariances of the observed columns are singular")
        distance = _minus_products(difference, row, distances) / sqrt(rest)
        root.append(row + [sqrt(rest)])
        distances.append(distance)
        distance = min(max(distance, -FAR), FAR)
        result -= 0.5 * (log(2 * pi) + distance * distance) + log(sqrt(rest))
    return result

'''

MARGINALIZED: Final = '''
def _add_marginalized(joint, codes):
    """Add the logarithms of the products of the tables with missing members, summed over their states.

    Missing variables that occur in common tables are one group; each group is added by itself, in the order of the library.
    """
    hidden, summing_to_one = _hidden(codes)
    tables = [
        (variable, {{m for m in members if m in hidden}}, members, strides, logs)
        for variable, members, strides, logs in TABLES
        if variable not in summing_to_one and CARDS[variable] > 1
    ]
    while hidden:
        group, added = set(), {{min(hidden)}}
        while added:
            group |= added
            added = {{h for _, free, *_ in tables if free & added for h in free}} - group
        hidden -= group
        factors = [_factor(codes, *table) for table in tables if table[1] & group]
        for h in _order(group, [set(free) for free, _ in factors]):
            used = [factor for factor in factors if h in factor[0]]
            factors = [factor for factor in factors if h not in factor[0]] + [_summed(used, h)]
        total = _added(message[()] for _, message in factors)
        joint = [a + b for a, b in zip(joint, total)]
    return joint


def _hidden(codes):
    """Return the missing variables with an observed descendant, and the others, whose tables sum to one."""
    missing = {{table[0] for table in TABLES if table[0] >= 0 and CARDS[table[0]] > 1 and codes[table[0]] is None}}
    hidden = set(missing)
    for v, *_ in reversed(TABLES):
        if v in hidden and not any(y in hidden or (y not in missing and CARDS[y] > 1) for y in CHILDREN[v]):
            hidden.discard(v)
    return hidden, missing - hidden


def _factor(codes, _, free, members, strides, logs):
    """Return the hidden members of a table, and its logarithms by their states, the other members observed."""
    first = sum(codes[m] * s for m, s in zip(members, strides) if m not in free)
    steps = [s for m, s in zip(members, strides) if m in free]
    free = [m for m in members if m in free]
    cells = product(*(range(CARDS[m]) for m in free))
    return free, {{states: _by_class(logs[first + sum(a * b for a, b in zip(states, steps))]) for states in cells}}


def _order(group, scopes):
    """Return the variables of a group in the order in which they are summed over, the smallest tables first."""
    order = []
    while group:
        cliques = {{h: set().union(*(scope for scope in scopes if h in scope)) for h in group}}
        best = min(group, key=lambda h: (_cells(cliques[h]), h))
        if _cells(cliques[best]) * len(CLASSES) > {cells}:
            raise ValueError("too many values are missing together: the sum over their states is too large")
        order.append(best)
        scopes = [scope for scope in scopes if best not in scope] + [cliques[best] - {{best}}]
        group = group - {{best}}
    return order


def _cells(variables):
    cells = 1
    for v in variables:
        cells *= CARDS[v]
    return cells


def _summed(factors, h):
    """Return the product of factors, summed over the states of h, in logarithms."""
    scope = sorted({{v for variables, _ in factors for v in variables}} - {{h}})
    message = {{}}
    for states in product(*(range(CARDS[v]) for v in scope)):
        state_of = dict(zip(scope, states))
        terms = []
        for state_of[h] in range(CARDS[h]):
            terms.append(_added(logs[tuple(state_of[v] for v in variables)] for variables, logs in factors))
        message[states] = [_log_sum(by_class) for by_class in zip(*terms)]
    return scope, message


def _added(terms):
    """Return sums by class. The function sum() of Python 3.12 and later rounds differently."""
    result = None
    for term in terms:
        result = term if result is None else [a + b for a, b in zip(result, term)]
    return result


def _log_sum(logs):
    top, total = max(logs), 0.0
    if top == -inf:
        return top
    for a in logs:
        total += exp(a - top)
    return log(total) + top

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
