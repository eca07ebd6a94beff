/* Boosted trees: each is fitted to the gradient of the loss of the trees before it (Friedman 2001; Newton steps as in Chen and
   Guestrin 2016). Nodes have the format of trees.c, with two branches. The NumPy version of every function is in boosting.py. */

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "columns.h"

#define TOGETHER 4

typedef struct {
    const uint16_t *codes; /* (column, row); the code after the last state is missing */
    const int64_t *states;
    const uint8_t *nominal;
    int64_t rows;
    double penalty, least; /* of squared values; the least curvature in a branch */
    double *sums;          /* room for slope and curvature of each code of TOGETHER columns */
    int64_t stride;        /* the room for one column */
    double *pairs;         /* slope and curvature of each used row of a node */
    int32_t *used;         /* the rows of a node that have a weight */
} table;

typedef struct {
    float gain; /* rounded, so that gains that differ by rounding errors only are equal, and the first one counts */
    int64_t column, test;
} split;

INLINE double score(double g, double h, double penalty) { return g * g / (h + penalty); }

/* Adds up slopes and curvatures of the first n used rows by the codes of a column. */
static void add_up(const table *t, int64_t column, int64_t n) {
    const uint16_t *codes = t->codes + column * t->rows;
    memset(t->sums, 0, 2 * (t->states[column] + 1) * sizeof *t->sums);
    for (int64_t i = 0; i < n; i++) {
        double *s = t->sums + 2 * codes[t->used[i]];
        s[0] += t->pairs[2 * i];
        s[1] += t->pairs[2 * i + 1];
    }
}

/* The same for TOGETHER columns: a sum waits for the one before it only if that is of the same code of the same column. */
static void add_up_together(const table *t, const int32_t *columns, int64_t n) {
    const uint16_t *codes[TOGETHER];
    double *places[TOGETHER];
    for (int j = 0; j < TOGETHER; j++) {
        codes[j] = t->codes + columns[j] * t->rows;
        places[j] = t->sums + j * t->stride;
        memset(places[j], 0, 2 * (t->states[columns[j]] + 1) * sizeof *t->sums);
    }
    for (int64_t i = 0; i < n; i++) {
        const int64_t row = t->used[i];
        const double g = t->pairs[2 * i], h = t->pairs[2 * i + 1];
        for (int j = 0; j < TOGETHER; j++) {
            double *s = places[j] + 2 * codes[j][row];
            s[0] += g;
            s[1] += h;
        }
    }
}

/* Replaces `best` by the best split by a column, if that is better. */
static void improve(const table *t, int64_t column, const double *sums, double G, double H, split *best) {
    const int64_t states = t->states[column];
    const double whole = score(G, H, t->penalty);
    double g = 0, h = 0;
    for (int64_t v = 0; v <= states - !t->nominal[column]; v++) {
        if (t->nominal[column]) g = h = 0;
        else if (sums[2 * v + 1] == 0) continue;
        g += sums[2 * v];
        h += sums[2 * v + 1];
        if (h < t->least || H - h < t->least) continue;
        const float gain = (float)(score(g, h, t->penalty) + score(G - g, H - h, t->penalty) - whole);
        if (gain > best->gain) *best = (split){gain, column, t->nominal[column] ? -2 - v : v};
    }
}

/* Replaces `best` by the best split of the first n used rows by one of the candidates, if that is better. */
static void improve_by(const table *t, const int32_t *candidates, int64_t many, int64_t n, double G, double H, split *best) {
    int64_t i = 0;
    for (; i + TOGETHER <= many; i += TOGETHER) {
        add_up_together(t, candidates + i, n);
        for (int j = 0; j < TOGETHER; j++) improve(t, candidates[i + j], t->sums + j * t->stride, G, H, best);
    }
    for (; i < many; i++) {
        add_up(t, candidates[i], n);
        improve(t, candidates[i], t->sums, G, H, best);
    }
}

/* Grows one tree on the rows in `order` and adds its values to `scores` (row, class) in one class. Writes at most `most` nodes and
   their values; returns their number. */
static int64_t grow(const table *t, int64_t *order, int64_t *other, const int32_t *candidates, int64_t many, int64_t depth,
                    double rate, const double *slope, const double *curvature, double *scores, int64_t K, int64_t *ends,
                    int64_t most, int64_t *nodes, double *values) {
    int64_t count = 1;
    ends[0] = 0;
    ends[1] = t->rows;
    ends[2] = 0; /* first row, end, depth of each node */
    for (int64_t at = 0; at < count; at++) {
        const int64_t from = ends[3 * at], n = ends[3 * at + 1] - from;
        int64_t *rows = order + from;
        double G = 0, H = 0;
        int64_t used = 0; /* rows of weight 0 add nothing */
        for (int64_t i = 0; i < n; i++) { /* without branches, which could not be predicted */
            G += t->pairs[2 * used] = slope[rows[i]];
            H += t->pairs[2 * used + 1] = curvature[rows[i]];
            t->used[used] = (int32_t)rows[i];
            used += t->pairs[2 * used + 1] != 0;
        }
        split best = {1e-6f, -1, -1};
        if (ends[3 * at + 2] < depth && count + 2 <= most && H >= 2 * t->least)
            improve_by(t, candidates, many, used, G, H, &best);
        nodes[3 * at] = best.column;
        nodes[3 * at + 1] = best.test;
        nodes[3 * at + 2] = 0;
        values[at] = 0;
        if (best.column < 0) {
            values[at] = -rate * G / (H + t->penalty);
            for (int64_t i = 0; i < n; i++) scores[rows[i] * K] += values[at];
            continue;
        }
        const uint16_t *codes = t->codes + best.column * t->rows;
        int64_t first = 0, second = 0;
        const int equal = best.test < 0;
        const int64_t value = equal ? -2 - best.test : best.test;
        for (int64_t i = 0; i < n; i++) {
            const int64_t row = rows[i], v = codes[row];
            const int in_second = equal ? v != value : v > value;
            rows[first] = other[second] = row;
            first += !in_second;
            second += in_second;
        }
        memcpy(rows + first, other, second * sizeof *rows);
        nodes[3 * at + 2] = count;
        for (int64_t i = 0; i < 2; i++, count++) {
            ends[3 * count] = from + i * first;
            ends[3 * count + 1] = i ? from + n : from + first;
            ends[3 * count + 2] = ends[3 * at + 2] + 1;
        }
    }
    return count;
}

/* Boosts `rounds` trees for each class, one for two classes, of which the first then has the score 0. scores (row, class) has the
   first scores and gets the last ones, also those of rows of weight 0. candidates (tree, many) are the columns of each tree. starts
   gets the first node of each tree and the number of nodes. Returns 0 if there is not enough memory. */
API int naivete_boost(const uint16_t *codes, const int64_t *states, const uint8_t *nominal, int64_t rows, const uint32_t *labels,
                      const double *weight, int64_t K, const int32_t *candidates, int64_t many, int64_t rounds, int64_t depth,
                      double rate, double penalty, double least, int64_t widest, double *scores, int64_t *nodes, double *values,
                      int64_t *starts) {
    const int64_t most = ((int64_t)2 << depth) - 1, first_class = K == 2;
    int64_t *order = malloc((2 * rows + 3 * most) * sizeof *order);
    double *space = malloc((rows * (K + 4) + 2 * TOGETHER * (widest + 1)) * sizeof *space);
    int32_t *used_rows = malloc((rows + 1) * sizeof *used_rows);
    const int ok = order && space && used_rows;
    double *p = space, *slope = p + rows * K, *curvature = slope + rows, *pairs = curvature + rows;
    const table t = {codes, states, nominal, rows, penalty, least, pairs + 2 * rows, 2 * (widest + 1), pairs, used_rows};
    int64_t used = 0, tree = 0;
    for (int64_t round = 0; ok && round < rounds; round++) {
        for (int64_t r = 0; r < rows; r++) {
            double top = -INFINITY, sum = 0, *q = p + r * K;
            for (int64_t c = 0; c < K; c++)
                if (scores[r * K + c] > top) top = scores[r * K + c];
            for (int64_t c = 0; c < K; c++) sum += q[c] = exp(scores[r * K + c] - top);
            for (int64_t c = 0; c < K; c++) q[c] /= sum;
        }
        for (int64_t c = first_class; c < K; c++, tree++) {
            for (int64_t r = 0; r < rows; r++) {
                const double q = p[r * K + c];
                slope[r] = weight[r] * (q - (labels[r] == c));
                curvature[r] = weight[r] * (q * (1 - q) + 1e-16);
                order[r] = r;
            }
            starts[tree] = used;
            used += grow(&t, order, order + rows, candidates + tree * many, many, depth, rate, slope, curvature, scores + c, K,
                         order + 2 * rows, most, nodes + 3 * used, values + used);
        }
    }
    if (ok) starts[tree] = used;
    free(order);
    free(space);
    free(used_rows);
    return ok;
}

enum { BLOCK = 128, AT_ONCE = 4 };

/* Adds the values of the leaves of one row to its scores. */
static void add_leaves(const column *columns, const int64_t *states, const int64_t *nodes, const double *values, const int64_t *starts,
                       int64_t trees, int64_t classes, int64_t r, double *scores) {
    for (int64_t i = 0; i < trees; i++) {
        const int64_t *tree = nodes + 3 * starts[i];
        int64_t at = 0;
        while (tree[3 * at] >= 0) {
            const int64_t v = known_code(columns + tree[3 * at], states[tree[3 * at]], r), test = tree[3 * at + 1];
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

/* Adds the values of the leaves of the rows from..to to scores (row, class); tree i is of class i % classes + first. Many rows descend
   several at once. Returns 0 if there is not enough memory. */
API int naivete_boosted_scores(const column *columns, const int64_t *states, int64_t width, const int64_t *nodes, const double *values,
                               const int64_t *starts, int64_t trees, int64_t classes, int64_t first, int64_t K, int64_t from,
                               int64_t to, double *scores) {
    if (to - from < BLOCK) {
        for (int64_t r = from; r < to; r++) add_leaves(columns, states, nodes, values, starts, trees, classes, r, scores + r * K + first);
        return 1;
    }
    uint32_t *codes = calloc(BLOCK * (width + 1), sizeof *codes);
    int32_t *steps = malloc((5 * starts[trees] + 1) * sizeof *steps), *depths = malloc((trees + 1) * sizeof *depths);
    const int ok = codes && steps && depths;
    if (ok) unrolled(nodes, starts, trees, steps, steps + 3 * starts[trees], depths);
    for (int64_t lo = from; ok && lo < to; lo += BLOCK) {
        const int64_t len = lo + BLOCK < to ? BLOCK : to - lo;
        known_codes(columns, states, width, lo, len, codes);
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
