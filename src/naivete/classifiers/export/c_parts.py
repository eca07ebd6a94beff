"""The text of the parts of an exported C file that only some models need: densities, sums over missing values, trees."""

from __future__ import annotations

from typing import Final

__all__ = [
    "DENSITIES",
    "DENSITY_TYPES",
    "ELIMINATION",
    "FALLBACK",
    "HIERARCHY",
    "JOINT",
    "JOINT_STEP",
    "REFUSE_JOINT",
    "STEP_TYPES",
    "TREE",
    "TREE_TYPES",
]

DENSITY_TYPES: Final = """
#define $P_FAR {far} /* distances from the mean are limited to this many standard deviations */
enum {{ $P_DENSITIES = {count} }};

typedef struct {{
    int variable, first, members, linked, values, slopes, width;
}} $p_density;

"""

DENSITIES: Final = """
/* Adds the log-densities of the continuous columns that are not missing. */
static int $p_add_densities(const int *codes, const double *numbers, double *joint) {
{missing}    for (int i = 0; i < $P_DENSITIES; i++) {
        const $p_density *d = &$p_densities[i];
        const int cell = $p_cell($p_parents + d->first, $p_parent_strides + d->first, d->members, codes);
        int observed = cell >= 0 && !isnan(numbers[d->variable]);
        for (int k = 0; k < d->linked; k++) observed = observed && !isnan(numbers[$p_parents[d->first + d->members + k]]);
        if (!observed) continue;
        for (int c = 0; c < $P_CLASSES; c++) {
            const int at = cell * d->width + (d->width > 1 ? c : 0);
            double expected = 0.0;
            for (int k = 0; k < d->linked; k++)
                expected += numbers[$p_parents[d->first + d->members + k]] * $p_slopes[d->slopes + at * d->linked + k];
            double distance = (numbers[d->variable] - expected - $p_means[d->values + at]) / $p_deviations[d->values + at];
            distance = fmin(fmax(distance, -$P_FAR), $P_FAR);
            joint[c] += $p_peaks[d->values + at] - 0.5 * distance * distance;
        }
    }
    return $P_OK;
}
"""

JOINT_STEP: Final = """\
    for (int i = 0; i < $P_CONTINUOUS; i++)
        if (isnan(numbers[$p_continuous[i]])) return $p_add_joint(numbers, joint);
"""

REFUSE_JOINT: Final = """\
    for (int i = 0; i < $P_DENSITIES; i++)
        if (isnan(numbers[$p_densities[i].variable])) return $P_INEXACT;
"""

JOINT: Final = """
/* Adds the log-density of the observed continuous columns in each class, by the Cholesky root of their covariances. */
static int $p_add_joint(const double *numbers, double *joint) {
    for (int c = 0; c < $P_CLASSES; c++) {
        const double *covariances = $p_covariances + c * $P_CONTINUOUS * $P_CONTINUOUS;
        double root[$P_CONTINUOUS][$P_CONTINUOUS], distances[$P_CONTINUOUS];
        int observed[$P_CONTINUOUS], n = 0;
        for (int i = 0; i < $P_CONTINUOUS; i++) {
            if (isnan(numbers[$p_continuous[i]])) continue;
            double rest = covariances[i * $P_CONTINUOUS + i];
            double distance = numbers[$p_continuous[i]] - $p_joint_means[c * $P_CONTINUOUS + i];
            for (int j = 0; j < n; j++) {
                double dot = 0.0;
                for (int k = 0; k < j; k++) dot += root[n][k] * root[j][k];
                root[n][j] = (covariances[i * $P_CONTINUOUS + observed[j]] - dot) / root[j][j];
                rest -= root[n][j] * root[n][j];
                distance -= root[n][j] * distances[j];
            }
            if (!(rest > 0)) return $P_INEXACT;
            root[n][n] = sqrt(rest);
            distances[n] = distance /= root[n][n];
            observed[n++] = i;
            distance = fmin(fmax(distance, -$P_FAR), $P_FAR);
            joint[c] -= 0.5 * (log(2 * 3.14159265358979323846) + distance * distance) + log(root[n - 1][n - 1]);
        }
    }
    return $P_OK;
}
"""

STEP_TYPES: Final = """
enum {{ $P_STEPS = {steps}, $P_CELLS = {cells}, $P_TABLES = {tables} }};

typedef struct {{
    int variable, first, others, factor, factors, message, messages, cells;
}} $p_step;

"""

ELIMINATION: Final = """
/*
 * Marks the tables that have to be multiplied: those with a missing member, of observed variables and of missing ones with
 * an observed descendant. The tables without missing members have been added before.
 */
static void $p_needed(const int *codes, int *kept) {
    int needed[$P_FEATURES] = {0};
    for (int t = $P_TABLES - 1; t >= 0; t--) {
        const $p_table *table = &$p_tables[t];
        const int v = table->variable;
        kept[t] = 0;
        if (v >= 0 && (codes[v] < 0 ? !needed[v] : $p_cards[v] == 1)) continue;
        for (int i = 0; i < table->members; i++) {
            const int member = $p_members[table->first + i];
            needed[member] = 1;
            kept[t] = kept[t] || codes[member] < 0;
        }
    }
}

/* Returns the log of the product of the tables of a step, and of the results of earlier steps, for some states in a class. */
static long double $p_product(const $p_step *step, const int *kept, const int *states, const long double *results, int c) {
    long double sum = 0.0L;
    for (int i = 0; i < step->factors; i++) {
        const $p_table *table = &$p_tables[$p_factors[step->factor + i]];
        if (!kept[$p_factors[step->factor + i]]) continue;
        const int cell = $p_cell($p_members + table->first, $p_strides + table->first, table->members, states);
        sum += $p_logs[table->logs + cell * table->width + (table->width > 1 ? c : 0)];
    }
    for (int i = 0; i < step->messages; i++) {
        const $p_step *other = &$p_steps[$p_messages[step->message + i]];
        sum += results[other->cells + $p_cell($p_others + other->first, $p_other_strides + other->first, other->others, states)];
    }
    return sum;
}

/* Returns the log of the sum of a step over the states of its variable. */
static long double $p_sum(const $p_step *step, const int *kept, int *states, const int *codes, const long double *results, int c) {
    const int v = step->variable, stop = codes[v] < 0 ? $p_cards[v] : codes[v] + 1;
    long double top = -INFINITY, total = 0.0L;
    for (states[v] = codes[v] < 0 ? 0 : codes[v]; states[v] < stop; states[v]++) {
        const long double term = $p_product(step, kept, states, results, c);
        if (term > top) {
            total = total * expl(top - term) + 1.0L;
            top = term;
        } else if (term > -INFINITY) {
            total += expl(term - top);
        }
    }
    return total > 0 ? top + logl(total) : -INFINITY;
}

/* Adds the logs of the products of the tables with missing members, summed over their states: variable elimination. */
static void $p_marginalize(const int *all_codes, double *joint) {
    int codes[$P_FEATURES], states[$P_FEATURES] = {0}, kept[$P_TABLES];
    long double results[$P_CELLS];
    $p_needed(all_codes, kept);
    memcpy(codes, all_codes, sizeof codes);
    for (int t = 0; t < $P_TABLES; t++)
        if (!kept[t] && $p_tables[t].variable >= 0 && codes[$p_tables[t].variable] < 0)
            codes[$p_tables[t].variable] = 0; /* in no table that is multiplied: any state will do */
    for (int c = 0; c < $P_CLASSES; c++) {
        long double sum = 0.0L;
        for (int i = 0; i < $P_STEPS; i++) {
            const $p_step *step = &$p_steps[i];
            const int *others = $p_others + step->first;
            for (int k = 0; k < step->others; k++) states[others[k]] = codes[others[k]] < 0 ? 0 : codes[others[k]];
            for (int k = 0; k >= 0;) {
                const int cell = $p_cell(others, $p_other_strides + step->first, step->others, states);
                results[step->cells + cell] = $p_sum(step, kept, states, codes, results, c);
                for (k = step->others - 1; k >= 0; k--) { /* the next states of the others */
                    const int v = others[k];
                    if (codes[v] < 0 && ++states[v] < $p_cards[v]) break;
                    states[v] = codes[v] < 0 ? 0 : codes[v];
                }
            }
            if (!step->others) sum += results[step->cells];
        }
        joint[c] += (double)sum;
    }
}
"""

FALLBACK: Final = """
/* Writes the log prior of the classes with the fewest factors of zero, for a row that is impossible in every class. */
static void $p_fallback(const int *codes, double *joint) {
    const double *prior = $p_prior{row};
    int zeros[$P_CLASSES] = {0}, fewest, possible = 0;
    for (int i = 0; i < (int)(sizeof $p_added / sizeof *$p_added); i++) {
        const $p_table *table = &$p_tables[$p_added[i]];
        const int cell = $p_cell($p_members + table->first, $p_strides + table->first, table->members, codes);
        if (cell < 0) continue;
        for (int c = 0; c < $P_CLASSES; c++)
            zeros[c] += $p_logs[table->logs + cell * table->width + (table->width > 1 ? c : 0)] == -INFINITY;
    }
    fewest = zeros[0];
    for (int c = 1; c < $P_CLASSES; c++) fewest = zeros[c] < fewest ? zeros[c] : fewest;
    for (int c = 0; c < $P_CLASSES; c++) possible = possible || (zeros[c] == fewest && prior[c] > -INFINITY);
    for (int c = 0; c < $P_CLASSES; c++) joint[c] = zeros[c] > fewest ? -INFINITY : possible ? prior[c] : 0.0;
}
"""

TREE_TYPES: Final = """
enum {{ $P_NODES = {nodes} }};

typedef struct {{
    int feature, children, branch, branches, leaf;
}} $p_node;

"""

TREE: Final = """
/* Writes the probabilities; a row in which a tested value is missing is divided among the branches of that node. */
static int $p_with_leaf(int *codes, const double *numbers, double *probabilities) {
    double shares[$P_NODES] = {0.0}, part[$P_CLASSES];
    int result = $P_OK;
    shares[0] = 1.0;
    for (int c = 0; c < $P_CLASSES; c++) probabilities[c] = 0.0;
    for (int i = 0; i < $P_NODES; i++) {
        const $p_node *node = &$p_nodes[i];
        if (shares[i] == 0.0) continue;
        if (node->feature < 0) {
            codes[{column}] = node->leaf;
            const int code = $p_posterior(codes, numbers, part);
            result = code > result ? code : result;
            for (int c = 0; c < $P_CLASSES; c++) probabilities[c] += part[c] * shares[i];
        } else if (codes[node->feature] < 0) {
            for (int k = node->branch; k < node->branch + node->branches; k++) shares[$p_branches[k]] = shares[i] * $p_shares[k];
        } else {
            shares[$p_children[node->children + codes[node->feature]]] = shares[i];
        }
    }
    return result;
}
"""

HIERARCHY: Final = """
/* Writes the probabilities of the last classifier of the hierarchy that the row reaches. */
static int $p_with_classifier(int *codes, const double *numbers, double *probabilities) {
    for (codes[{column}] = 0;;) {
        const int code = $p_posterior(codes, numbers, probabilities), test = $p_tests[codes[{column}]];
        int branch = 0;
        for (int c = 1; c < $P_CLASSES; c++)
            if (rint(probabilities[c] * 1e12) > rint(probabilities[branch] * 1e12)) branch = c;
        if (test >= 0) branch = codes[test];
        const int next = branch < 0 ? -1 : $p_next[codes[{column}] * {width} + branch];
        if (next < 0) return code;
        codes[{column}] = next;
    }
}
"""
