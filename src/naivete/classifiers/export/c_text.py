"""The text of the parts of an exported C file. `$p` and `$P` stand for the prefix of its names, in lower and upper case."""

from __future__ import annotations

from typing import Final

__all__ = [
    "ENCODE",
    "EXACT",
    "HEADER",
    "INEXACT",
    "INTERFACE",
    "MAIN",
    "TABLES",
    "posterior",
    "predict",
]

EXACT: Final = "Missing values are marginalized exactly."
INEXACT: Final = (
    "Missing values are marginalized exactly, except where a feature\n"
    " * is missing on which other features depend: then $P_INEXACT is returned, and the probabilities are NaN."
)

HEADER: Final = """\
/* A classifier exported by naivete.
 *
{description} *
 * {missing}
 * A number that is NaN and an empty text are missing values. Texts are UTF-8.
 *
 * $p_predict_proba(row, probabilities) writes the probabilities of the classes, in the order of $p_classes, for a row with the
 * values of $p_columns. It allocates no memory, changes no global state, and returns one of the codes $P_OK and so on.
 * Compile with -D$P_MAIN to get a program that reads rows as tab-separated text (\\N is missing) and prints code and probabilities.
 */

#include <math.h>
#include <stddef.h>
#include <string.h>
"""

INTERFACE: Final = """
enum {{ $P_COLUMNS = {columns}, $P_CLASSES = {classes}, $P_FEATURES = {features} }};

/* A value of a row. */
typedef struct {{
    enum {{ $P_MISSING, $P_TEXT, $P_NUMBER, $P_BOOLEAN }} kind;
    const char *text;
    double number; /* also 0 or 1 for a boolean */
}} $p_value;

enum {{
    $P_OK,         /* the probabilities are exact */
    $P_IMPOSSIBLE, /* the row is impossible in every class: the prior of the classes with the fewest factors of zero */
    $P_INEXACT,    /* a value is missing that this program cannot marginalize: the probabilities are NaN */
    $P_UNSEEN,     /* a value did not occur in training and is to be refused: the probabilities are NaN */
    $P_INVALID     /* an infinite number, or text in a numeric column: the probabilities are NaN */
}};

enum {{ $P_STATES, $P_INTERVALS, $P_CONTINUOUS_NUMBER, $P_UNUSED }};

typedef struct {{
    int kind, first, count; /* the position and number of its states or cut points */
    int missing, unseen;    /* codes; -1 is marginalized, -2 is refused */
    double origin;
}} $p_column;

typedef struct {{
    int variable, first, members, logs, width; /* positions of its members and of its logarithms; values in a cell */
}} $p_table;

"""

ENCODE: Final = """
static int $p_fail(double *probabilities, int code) {
    for (int c = 0; c < $P_CLASSES; c++) probabilities[c] = NAN;
    return code;
}

static int $p_is_missing(const $p_value *value) {
    if (value->kind == $P_TEXT) return !*value->text;
    return value->kind == $P_MISSING || isnan(value->number);
}

/* Returns the code of a value of a column with states. */
static int $p_state(const $p_column *column, const $p_value *value) {
    for (int i = 0; i < column->count; i++) {
        const $p_value *state = &$p_states[column->first + i];
        if (state->kind != value->kind) continue;
        if (state->kind == $P_TEXT ? !strcmp(state->text, value->text) : state->number == value->number) return i;
    }
    return column->unseen;
}

/* Writes the code of each column, -1 if it is missing, and the numbers of continuous columns, NaN if missing. */
static int $p_encode(const $p_value *row, int *codes, double *numbers) {
    for (int x = 0; x < $P_COLUMNS; x++) {
        const $p_column *column = &$p_encoding[x];
        codes[x] = 0;
        numbers[x] = NAN;
        if (column->kind == $P_UNUSED) continue;
        if ($p_is_missing(&row[x])) {
            codes[x] = column->missing;
        } else if (row[x].kind != $P_TEXT && !isfinite(row[x].number)) {
            return $P_INVALID;
        } else if (column->kind == $P_STATES) {
            codes[x] = $p_state(column, &row[x]);
            if (codes[x] == -2) return $P_UNSEEN;
        } else if (row[x].kind == $P_TEXT) {
            return $P_INVALID;
        } else if (column->kind == $P_INTERVALS) {
            while (codes[x] < column->count && $p_cuts[column->first + codes[x]] < row[x].number) codes[x]++;
        } else {
            numbers[x] = row[x].number - column->origin;
        }
    }
    return $P_OK;
}
"""

TABLES: Final = """
/* Returns the cell of a table for the codes of its members, -1 if one is missing. */
static int $p_cell(const int *members, const int *strides, int count, const int *codes) {
    int cell = 0;
    for (int i = 0; i < count; i++) {
        if (codes[members[i]] < 0) return -1;
        cell += codes[members[i]] * strides[i];
    }
    return cell;
}

static void $p_add_tables(const int *tables, int count, const int *codes, double *joint) {
    for (int i = 0; i < count; i++) {
        const $p_table *table = &$p_tables[tables[i]];
        const int cell = $p_cell($p_members + table->first, $p_strides + table->first, table->members, codes);
        if (cell < 0) continue;
        const double *logs = $p_logs + table->logs + cell * table->width;
        for (int c = 0; c < $P_CLASSES; c++) joint[c] += logs[table->width > 1 ? c : 0];
    }
}
"""

MAIN: Final = """
#ifdef $P_MAIN
#include <stdio.h>
#include <stdlib.h>

/* Replaces the escapes of a cell in place. */
static void $p_unescape(char *text) {
    char *to = text;
    for (; *text; text++) {
        if (*text == '\\\\' && text[1]) {
            text++;
            *to++ = *text == 't' ? '\\t' : *text == 'n' ? '\\n' : *text == 'r' ? '\\r' : *text;
        } else {
            *to++ = *text;
        }
    }
    *to = 0;
}

/* Returns the value of a cell: a number or a boolean if the column has such values and the cell is none of its texts. */
static $p_value $p_parse(char *cell, const $p_column *column) {
    $p_value value = {$P_MISSING, NULL, 0.0};
    char *end;
    int texts_only = column->kind == $P_STATES || column->kind == $P_UNUSED;
    if (!strcmp(cell, "\\\\N")) return value;
    $p_unescape(cell);
    value.kind = $P_TEXT;
    value.text = cell;
    for (int i = 0; column->kind == $P_STATES && i < column->count; i++) {
        const $p_value *state = &$p_states[column->first + i];
        if (state->kind == $P_TEXT && !strcmp(state->text, cell)) return value;
        if (state->kind != $P_TEXT) texts_only = 0;
        if (state->kind == $P_BOOLEAN && !strcmp(cell, state->number != 0.0 ? "true" : "false")) return *state;
    }
    if (texts_only) return value;
    value.number = strtod(cell, &end);
    if (end != cell && !*end) value.kind = $P_NUMBER;
    return value;
}

int main(void) {
    static char line[1 << 20];
    while (fgets(line, sizeof line, stdin)) {
        $p_value row[$P_COLUMNS] = {{$P_MISSING, NULL, 0.0}};
        double probabilities[$P_CLASSES];
        char *cell = line;
        line[strcspn(line, "\\n")] = 0;
        for (int x = 0; x < $P_COLUMNS && cell; x++) {
            char *tab = strchr(cell, '\\t');
            if (tab) *tab++ = 0;
            row[x] = $p_parse(cell, &$p_encoding[x]);
            cell = tab;
        }
        printf("%d", $p_predict_proba(row, probabilities));
        for (int c = 0; c < $P_CLASSES; c++) printf("\\t%.17g", probabilities[c]);
        putchar('\\n');
    }
    return 0;
}
#endif
"""


def posterior(
    *, added: str, constant: str, missing: str, marginalized: str, densities: bool, fallback: bool, temperature: str
) -> str:
    """Return the function that writes the probabilities of a row of codes.

    Parameters
    ----------
    added, constant : the statements that add the tables with the class, and those without it that have zeros.
    missing : the condition that a parent is missing.
    marginalized : the statement that is executed then.
    densities : whether there are densities.
    fallback : whether rows can be impossible.
    temperature : the factor of the logarithms, empty if it is 1.
    """
    steps = [
        f"    {added}\n",
        _ADD_DENSITIES if densities else "    (void)numbers;\n",
        f"    if ({missing}) {marginalized}\n" if missing else "",
        f"    {constant}\n" if constant else "",
        "    for (int c = 0; c < $P_CLASSES; c++) top = joint[c] > top ? joint[c] : top;\n",
        _IMPOSSIBLE if fallback else "",
        f"    for (int c = 0; c < $P_CLASSES; c++) joint[c] *= {temperature};\n    top *= {temperature};\n" if temperature else "",
    ]
    result = "impossible ? $P_IMPOSSIBLE : $P_OK" if fallback else "$P_OK"
    return f"""
/* Writes the probabilities of the classes for a row of codes. */
static int $p_posterior(const int *codes, const double *numbers, double *probabilities) {{
    double joint[$P_CLASSES] = {{0.0}}, top = -INFINITY, total = 0.0;
{"".join(steps)}    for (int c = 0; c < $P_CLASSES; c++) total += probabilities[c] = exp(joint[c] - top);
    for (int c = 0; c < $P_CLASSES; c++) probabilities[c] /= total;
    return {result};
}}
"""


_ADD_DENSITIES = """\
    const int code = $p_add_densities(codes, numbers, joint);
    if (code) return $p_fail(probabilities, code);
"""

_IMPOSSIBLE = """\
    const int impossible = top == -INFINITY;
    if (impossible) {
        $p_fallback(codes, joint);
        for (int c = 0; c < $P_CLASSES; c++) top = joint[c] > top ? joint[c] : top;
    }
"""


def predict(*, evidence: str, hidden: str, call: str) -> str:
    """Return the function that a user calls.

    Parameters
    ----------
    evidence : the condition that a value is observed; empty if a row without any is treated as all others.
    hidden : the statements that set the codes of derived columns.
    call : the expression that writes the probabilities.
    """
    prior = f"""\
    if (!({evidence})) {{
        memcpy(probabilities, $p_without_evidence, sizeof $p_without_evidence);
        return $P_OK;
    }}
"""
    return f"""
int $p_predict_proba(const $p_value row[$P_COLUMNS], double probabilities[$P_CLASSES]) {{
    int codes[$P_FEATURES];
    double numbers[$P_COLUMNS];
    const int error = $p_encode(row, codes, numbers);
    if (error) return $p_fail(probabilities, error);
{hidden}{prior if evidence else ""}    return {call};
}}
"""
