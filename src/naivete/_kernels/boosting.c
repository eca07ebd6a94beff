/* Boosted trees: each is fitted to the gradient of the loss of the trees before it (Friedman 2001; Newton steps as in Chen and
   Guestrin 2016). Nodes have the format of trees.c, with two branches. The NumPy version of every function is in boosting.py.

   Slopes and curvatures of the rows are whole multiples of a unit, so that their sums are exact: they do not depend on an order, and
   those of a branch are those of its parent minus those of the other branch.

   A row ends at an inner node if its value of the column is missing and the column is complete, as in trees.c. The value of that
   node is a Newton step with the curvature of the mean probability p of the class in its cases: -rate G / (W p (1 - p) + penalty),
   where G is the sum of slopes and W the weight. The steps of the leaves below change the sum of the probabilities of the cases by
   -rate G; so the values of the node, summed over the trees, are the change of the log odds of p. The mean change of the log odds of
   the cases, in which the value is known, would be too sure. */

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "elementary.h"

enum { TOGETHER = 4, DEEPEST = 62 }; /* columns that are added up together; the largest depth */

/* A slope and a curvature, or sums of them: slope * 2^32 + curvature, where the sums of curvatures are below 2^32. */
typedef int64_t pair;

INLINE int64_t curvature_of(pair x) { return x & 0xFFFFFFFF; }
INLINE int64_t slope_of(pair x) { return (x - curvature_of(x)) / ((int64_t)1 << 32); }

typedef struct {
    const uint16_t *codes; /* (column, row); the code after the last state is missing */
    const int64_t *states;
    const uint8_t *nominal;
    int64_t rows;
    double penalty, least, unit; /* of squared values; the least curvature in a branch; of slopes and curvatures */
    const pair *cases;           /* the weight of each row in units, and the same in the class of the tree, 0 in others, as a pair */
    const int32_t *candidates;   /* the columns by which a tree may split */
    int64_t many;
    int64_t *starts;        /* the first sum of each candidate, and the number of all sums */
    pair *sums;             /* tables of the sums of each code of each candidate, DEEPEST + 2 at most */
    pair *few_sums;         /* a table that is zero between two uses, for nodes with few rows */
    uint64_t *marks;        /* a bit for each sum of few_sums that is in use */
    int32_t *used;          /* the rows of a node that add to the sums, */
    pair *pairs;            /* and what they add */
} table;

typedef struct {
    float gain; /* rounded, so that gains that differ by rounding errors only are equal, and the first one counts */
    int64_t column, test;
    pair first; /* the sum of the rows of the first branch */
} split;

/* A node that waits: its position, its rows, its depth, its sum, and the number of its table of sums, -1 if it has none. */
typedef struct {
    int64_t at, from, to, depth;
    pair sum;
    int64_t sums;
} waiting;

INLINE double score(double g, double h, double penalty) { return g * g / (h + penalty); }

/* Lists the rows that add to the sums; returns their number. */
static int64_t list_used(const table *t, const int32_t *rows, int64_t n, const pair *derivatives) {
    int64_t used = 0;
    for (int64_t i = 0; i < n; i++) { /* without branches, which could not be predicted */
        t->pairs[used] = derivatives[rows[i]];
        t->used[used] = rows[i];
        used += t->pairs[used] != 0;
    }
    return used;
}

/* Adds up the listed rows by the codes of `many` candidates: a sum waits for the one before it only if that is of the same code of
   the same column. With few rows the sums in use are marked. */
INLINE void add_columns(const table *t, int64_t first, int64_t many, int64_t n, pair *sums, int few) {
    const uint16_t *codes[TOGETHER];
    pair *places[TOGETHER];
    for (int64_t j = 0; j < many; j++) {
        codes[j] = t->codes + t->candidates[first + j] * t->rows;
        places[j] = sums + t->starts[first + j];
    }
    for (int64_t i = 0; i < n; i++) {
        const int64_t row = t->used[i];
        const pair x = t->pairs[i];
        for (int64_t j = 0; j < many; j++) {
            const int64_t v = codes[j][row];
            places[j][v] += x;
            if (few) t->marks[(t->starts[first + j] + v) / 64] |= (uint64_t)1 << (t->starts[first + j] + v) % 64;
        }
    }
}

INLINE void add_up(const table *t, int64_t n, pair *sums, int few) {
    int64_t i = 0;
    for (; i + TOGETHER <= t->many; i += TOGETHER) add_columns(t, i, TOGETHER, n, sums, few);
    if (i < t->many) add_columns(t, i, t->many - i, n, sums, few);
}

/* Replaces the best split by that which sends the codes up to v of candidate i, or v alone, to the first branch, if that is better.
   `before` is the sum of the codes before v. */
INLINE void consider(const table *t, int64_t i, int64_t v, pair sum, pair *before, pair all, double whole, split *best) {
    const int64_t column = t->candidates[i];
    const pair first = *before = t->nominal[column] ? sum : *before + sum, second = all - first;
    const double h = t->unit * curvature_of(first), rest = t->unit * curvature_of(second);
    if (h < t->least || rest < t->least) return;
    const double g = t->unit * slope_of(first), other = t->unit * slope_of(second);
    const float gain = (float)(score(g, h, t->penalty) + score(other, rest, t->penalty) - whole);
    if (gain > best->gain) *best = (split){gain, column, t->nominal[column] ? -2 - v : v, first};
}

/* Returns the best split of a node with these sums. */
static split best_split(const table *t, const pair *sums, pair all, double whole) {
    split best = {1e-6f, -1, -1, 0};
    for (int64_t i = 0; i < t->many; i++) {
        const int64_t last = t->states[t->candidates[i]] - !t->nominal[t->candidates[i]]; /* numbers: missing ones are never alone */
        pair before = 0;
        for (int64_t v = 0; v <= last; v++)
            if (sums[t->starts[i] + v]) consider(t, i, v, sums[t->starts[i] + v], &before, all, whole, &best);
    }
    return best;
}

/* The same from the marked sums, which are cleared. */
static split best_marked_split(const table *t, pair all, double whole) {
    split best = {1e-6f, -1, -1, 0};
    int64_t i = 0;
    pair before = 0;
    for (int64_t word = 0; word <= t->starts[t->many] / 64; word++) {
        for (uint64_t bits = t->marks[word]; bits; bits &= bits - 1) {
            const int64_t place = 64 * word + __builtin_ctzll(bits);
            for (; place >= t->starts[i + 1]; i++) before = 0;
            const int64_t v = place - t->starts[i], column = t->candidates[i];
            if (v <= t->states[column] - !t->nominal[column]) consider(t, i, v, t->few_sums[place], &before, all, whole, &best);
            t->few_sums[place] = 0;
        }
        t->marks[word] = 0;
    }
    return best;
}

/* Moves the rows of the second branch behind those of the first, both in their order; returns the number of the first. */
static int64_t divide(const table *t, const split *best, int32_t *rows, int64_t n, int32_t *other) {
    const uint16_t *codes = t->codes + best->column * t->rows;
    int64_t first = 0, second = 0;
    const int equal = best->test < 0;
    const int64_t value = equal ? -2 - best->test : best->test;
    for (int64_t i = 0; i < n; i++) {
        const int32_t row = rows[i];
        const int64_t v = codes[row];
        const int in_second = equal ? v != value : v > value;
        rows[first] = other[second] = row;
        first += !in_second;
        second += in_second;
    }
    memcpy(rows + first, other, second * sizeof *rows);
    return first;
}

/* The value of an inner node with these rows and this sum. */
static double inner_value(const table *t, const int32_t *rows, int64_t n, pair sum, double rate) {
    pair weights = 0;
    for (int64_t i = 0; i < n; i++) weights += t->cases[rows[i]];
    const double G = t->unit * slope_of(sum), H = t->unit * curvature_of(sum);
    const double W = t->unit * slope_of(weights), p = t->unit * curvature_of(weights) + G, curvature = p * (W - p) / W;
    return -rate * G / ((curvature > H ? curvature : H) + t->penalty);
}

/* Grows one tree on the rows in `order` and adds its values to `scores` (row, class) in one class. Writes the nodes and their values;
   returns their number. */
static int64_t grow(const table *t, int32_t *order, int32_t *other, int64_t depth, double rate, const pair *derivatives, double *scores,
                    int64_t K, int64_t *nodes, double *values) {
    waiting stack[DEEPEST + 2];
    int64_t count = 1, stacked = 1, tables[DEEPEST + 2], unused = 0;
    for (int64_t i = 0; i < depth + 2; i++) tables[unused++] = i;
    pair whole = 0;
    for (int64_t r = 0; r < t->rows; r++) whole += derivatives[r];
    stack[0] = (waiting){0, 0, t->rows, 0, whole, -1};
    while (stacked) {
        waiting node = stack[--stacked];
        int32_t *rows = order + node.from;
        const int64_t n = node.to - node.from, all_sums = t->starts[t->many];
        const double G = t->unit * slope_of(node.sum), H = t->unit * curvature_of(node.sum), least = 2 * t->least;
        split best = {0, -1, -1, 0};
        if (node.depth < depth && H >= least) {
            const double without = score(G, H, t->penalty);
            if (node.sums < 0) {
                const int64_t used = list_used(t, rows, n, derivatives);
                if (used * t->many < all_sums) {
                    add_up(t, used, t->few_sums, 1);
                    best = best_marked_split(t, node.sum, without);
                } else {
                    node.sums = tables[--unused];
                    memset(t->sums + node.sums * all_sums, 0, all_sums * sizeof *t->sums);
                    add_up(t, used, t->sums + node.sums * all_sums, 0);
                }
            }
            if (node.sums >= 0) best = best_split(t, t->sums + node.sums * all_sums, node.sum, without);
        }
        nodes[3 * node.at] = best.column;
        nodes[3 * node.at + 1] = best.test;
        nodes[3 * node.at + 2] = 0;
        if (best.column < 0) {
            values[node.at] = -rate * G / (H + t->penalty);
            for (int64_t i = 0; i < n; i++) scores[rows[i] * K] += values[node.at];
            if (node.sums >= 0) tables[unused++] = node.sums;
            continue;
        }
        values[node.at] = inner_value(t, rows, n, node.sum, rate);
        const int64_t middle = node.from + divide(t, &best, rows, n, other);
        waiting small = {count, node.from, middle, node.depth + 1, best.first, -1};
        waiting large = {count + 1, middle, node.to, node.depth + 1, node.sum - best.first, -1};
        nodes[3 * node.at + 2] = count;
        count += 2;
        if (small.to - small.from > large.to - large.from) {
            const waiting swap = small;
            small = large;
            large = swap;
        }
        const int again = node.depth + 1 < depth && t->unit * curvature_of(large.sum) >= least;
        if (node.sums >= 0 && again && (large.to - large.from) * t->many >= all_sums) {
            const int64_t used = list_used(t, order + small.from, small.to - small.from, derivatives);
            pair *rest = t->sums + node.sums * all_sums;
            small.sums = tables[--unused];
            pair *sums = t->sums + small.sums * all_sums;
            memset(sums, 0, all_sums * sizeof *sums);
            add_up(t, used, sums, 0);
            for (int64_t i = 0; i < all_sums; i++) rest[i] -= sums[i];
            large.sums = node.sums;
        } else if (node.sums >= 0) tables[unused++] = node.sums;
        stack[stacked++] = large;
        stack[stacked++] = small;
    }
    return count;
}

/* Writes P(class) of all rows from their scores; of two classes, the first of which has the score 0, that of the second alone. */
INLINE int probabilities_body(const double *scores, int64_t rows, int64_t K, double *p) {
    if (K == 2) {
        for (int64_t r = 0; r < rows; r++) p[2 * r + 1] = 1.0 / (1.0 + exp_of(-scores[2 * r + 1]));
        return 1;
    }
    for (int64_t r = 0; r < rows; r++) {
        const double *z = scores + r * K;
        double top = -INFINITY;
        for (int64_t c = 0; c < K; c++) top = z[c] > top ? z[c] : top;
        for (int64_t c = 0; c < K; c++) p[r * K + c] = z[c] - top;
    }
    for (int64_t i = 0; i < rows * K; i++) p[i] = exp_of(p[i]);
    for (int64_t r = 0; r < rows; r++) {
        double sum = 0, *q = p + r * K;
        for (int64_t c = 0; c < K; c++) sum += q[c];
        for (int64_t c = 0; c < K; c++) q[c] /= sum;
    }
    return 1;
}
BY_INSTRUCTION_SET(int, probabilities, (const double *scores, int64_t rows, int64_t K, double *p), (scores, rows, K, p))

/* The nearest whole number of a number below 2^51. */
INLINE int64_t whole(double x) {
    const double shifted = x + 0x1.8p52;
    int64_t bits;
    memcpy(&bits, &shifted, 8);
    return bits - 0x4338000000000000;
}

/* Writes the slope and the curvature of the loss by the score of one class, in units, for all rows. */
INLINE int derive_body(const double *p, const uint32_t *labels, const double *weight, int64_t rows, int64_t K, uint32_t c, double unit,
                       pair *derivatives) {
    for (int64_t r = 0; r < rows; r++) {
        const double q = p[r * K + c], w = weight[r] / unit;
        derivatives[r] = (int64_t)((uint64_t)whole(w * (q - (labels[r] == c))) << 32) + whole(w * (q * (1 - q)));
    }
    return 1;
}
BY_INSTRUCTION_SET(int, derive,
                   (const double *p, const uint32_t *labels, const double *weight, int64_t rows, int64_t K, uint32_t c, double unit,
                    pair *derivatives),
                   (p, labels, weight, rows, K, c, unit, derivatives))

/* Writes the weights of all rows, and those of the rows of a class, in units. */
INLINE int weigh_body(const uint32_t *labels, const double *weight, int64_t rows, uint32_t c, double unit, pair *cases) {
    for (int64_t r = 0; r < rows; r++) {
        const int64_t w = whole(weight[r] / unit);
        cases[r] = (w << 32) + (labels[r] == c ? w : 0);
    }
    return 1;
}
BY_INSTRUCTION_SET(int, weigh, (const uint32_t *labels, const double *weight, int64_t rows, uint32_t c, double unit, pair *cases),
                   (labels, weight, rows, c, unit, cases))

/* Boosts `rounds` trees for each class, one for two classes, of which the first then has the score 0. scores (row, class) has the
   first scores and gets the last ones, also those of rows of weight 0. candidates (tree, many) are the columns of each tree. starts
   gets the first node of each tree and the number of nodes. Returns 0 if there is not enough memory. */
API int naivete_boost(const uint16_t *codes, const int64_t *states, const uint8_t *nominal, int64_t rows, const uint32_t *labels,
                      const double *weight, int64_t K, const int32_t *candidates, int64_t many, int64_t rounds, int64_t depth,
                      double rate, double penalty, double least, double unit, int64_t widest, double *scores, int64_t *nodes,
                      double *values, int64_t *starts) {
    const int64_t first_class = K == 2, room = many * (widest + 1) + 1;
    int32_t *order = malloc((3 * rows + 1) * sizeof *order);
    double *p = malloc((rows * K + 1) * sizeof *p);
    pair *derivatives = malloc((3 * rows + (depth + 2) * room + 1) * sizeof *derivatives), *cases = derivatives + 2 * rows,
          *few_sums = calloc(room, sizeof *few_sums);
    uint64_t *marks = calloc(room / 64 + 1, sizeof *marks);
    int64_t *places = malloc((many + 1) * sizeof *places);
    const int ok = order && p && derivatives && few_sums && marks && places;
    table t = {codes, states, nominal, rows, penalty, least, unit, cases, candidates, many, places, cases + rows, few_sums, marks,
               order + 2 * rows, derivatives + rows};
    int64_t used = 0, tree = 0;
    for (int64_t round = 0; ok && round < rounds; round++) {
        probabilities(scores, rows, K, p);
        for (int64_t c = first_class; c < K; c++, tree++) {
            derive(p, labels, weight, rows, K, (uint32_t)c, unit, derivatives);
            weigh(labels, weight, rows, (uint32_t)c, unit, cases);
            for (int64_t r = 0; r < rows; r++) order[r] = (int32_t)r;
            t.candidates = candidates + tree * many;
            places[0] = 0;
            for (int64_t i = 0; i < many; i++) places[i + 1] = places[i] + states[t.candidates[i]] + 1;
            starts[tree] = used;
            used += grow(&t, order, order + rows, depth, rate, derivatives, scores + c, K, nodes + 3 * used, values + used);
        }
    }
    if (ok) starts[tree] = used;
    free(order);
    free(p);
    free(derivatives);
    free(few_sums);
    free(marks);
    free(places);
    return ok;
}

enum { BLOCK = 128, AT_ONCE = 4 };

/* Adds the values of the nodes where one row ends to its scores. */
static void add_values(const column *columns, const int64_t *states, const uint8_t *complete, const int64_t *nodes,
                       const double *values, const int64_t *starts, int64_t trees, int64_t classes, int64_t r, double *scores) {
    for (int64_t i = 0; i < trees; i++) {
        const int64_t *tree = nodes + 3 * starts[i];
        int64_t at = 0;
        while (tree[3 * at] >= 0) {
            const int64_t col = tree[3 * at], v = known_code(columns + col, states[col], r), test = tree[3 * at + 1];
            if (complete[col] && v == states[col]) break;
            at = tree[3 * at + 2] + (test < 0 ? v != -2 - test : v > test);
        }
        scores[i % classes] += values[starts[i] + at];
    }
}

/* Writes the nodes of the trees in 32 bits, with leaves that lead to themselves, and the depth of each tree; `levels` is memory for a
   number for each node. */
static void unrolled(const int64_t *nodes, const int64_t *starts, int64_t trees, int32_t *steps, int32_t *levels, int32_t *depths) {
    for (int64_t i = 0; i < trees; i++) {
        const int64_t *tree = nodes + 3 * starts[i];
        int32_t *step = steps + 3 * starts[i], *level = levels + starts[i];
        level[0] = depths[i] = 0;
        for (int64_t at = 0; at < starts[i + 1] - starts[i]; at++) { /* every child comes after its parent */
            const int leaf = tree[3 * at] < 0;
            step[3 * at] = leaf ? 0 : (int32_t)tree[3 * at];
            step[3 * at + 1] = leaf ? INT32_MAX : (int32_t)tree[3 * at + 1];
            step[3 * at + 2] = leaf ? (int32_t)at : (int32_t)tree[3 * at + 2];
            if (level[at] > depths[i]) depths[i] = level[at];
            for (int64_t b = 0; !leaf && b < 2; b++) level[tree[3 * at + 2] + b] = level[at] + 1;
        }
    }
}

/* Whether a value of a complete column is missing in any of some rows, whose codes are side by side. */
static int any_end(const uint32_t *codes, const int64_t *states, const uint8_t *complete, int64_t width, int64_t len) {
    int any = 0;
    for (int64_t i = 0; i < len; i++)
        for (int64_t x = 0; x < width; x++) any |= complete[x] & (codes[i * width + x] == (uint32_t)states[x]);
    return any;
}

/* Adds the values of the nodes where the rows from..to end to scores (row, class); tree i is of class i % classes + first. Many rows
   descend several at once, if they all end at leaves. complete[column] is 1 for complete columns. Returns 0 if there is not enough
   memory. */
API int naivete_boosted_scores(const column *columns, const int64_t *states, const uint8_t *complete, int64_t width,
                               const int64_t *nodes, const double *values, const int64_t *starts, int64_t trees, int64_t classes,
                               int64_t first, int64_t K, int64_t from, int64_t to, double *scores) {
    if (to - from < BLOCK) {
        for (int64_t r = from; r < to; r++)
            add_values(columns, states, complete, nodes, values, starts, trees, classes, r, scores + r * K + first);
        return 1;
    }
    uint32_t *codes = calloc(BLOCK * (width + 1), sizeof *codes);
    int32_t *steps = malloc((5 * starts[trees] + 1) * sizeof *steps), *depths = malloc((trees + 1) * sizeof *depths);
    const int ok = codes && steps && depths;
    if (ok) unrolled(nodes, starts, trees, steps, steps + 3 * starts[trees], depths);
    for (int64_t lo = from; ok && lo < to; lo += BLOCK) {
        const int64_t len = lo + BLOCK < to ? BLOCK : to - lo;
        known_codes(columns, states, width, lo, len, codes);
        if (any_end(codes, states, complete, width, len)) {
            for (int64_t r = lo; r < lo + len; r++)
                add_values(columns, states, complete, nodes, values, starts, trees, classes, r, scores + r * K + first);
            continue;
        }
        for (int64_t i = 0; i < trees; i++) {
            const int32_t *tree = steps + 3 * starts[i];
            const double *leaves = values + starts[i];
            for (int64_t j = 0; j < len; j += AT_ONCE) {
                const uint32_t *row = codes + j * width;
                int64_t at[AT_ONCE] = {0};
                for (int32_t d = 0; d < depths[i]; d++)
                    for (int64_t k = 0; k < AT_ONCE; k++) {
                        const int32_t *step = tree + 3 * at[k], v = (int32_t)row[k * width + step[0]], test = step[1];
                        at[k] = step[2] + (test < 0 ? v != -2 - test : v > test);
                    }
                for (int64_t k = 0; k < AT_ONCE && j + k < len; k++) scores[(lo + j + k) * K + i % classes + first] += leaves[at[k]];
            }
        }
    }
    free(codes);
    free(steps);
    free(depths);
    return ok;
}
