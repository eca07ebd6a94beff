/* Prediction of a spectrum: the weighted sum of the terms of each row, computed without the terms themselves.

   What is added up are unnormalized logarithms: a constant that is the same for all classes does not change a posterior. The scores
   of a row are several channels with a number for each class: the first is the weighted sum of all terms, the others are the single
   terms of the mixture.

   The sum of weight[d] * log P_d(x | class, context) over the depths d is split into two parts. Let e be the longest context of the
   row in which x occurs. From there on every context multiplies P by (theta + delta t) / (N + theta), whatever x is. So the sum is
   one number of (e, x, class) plus one number of (the longest context of the row, class). Both are looked up in tables, or, where few
   rows are predicted, computed by the same operations in the same order, which gives the same bits. */

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "spectrum.h"

enum { MOST_ROWS = 1024, AT_ONCE = 8, LINE = 64 };

/* Asks for the memory of some numbers, so that it is in the cache when they are used. */
INLINE void prefetch(const double *numbers, int64_t count) {
    for (int64_t i = 0; i < count; i += LINE / 8) __builtin_prefetch(numbers + i);
    __builtin_prefetch(numbers + count - 1);
}

/* Adds the sums of one family to `sums` (row, class) without tables. The bins of column j are binned[j * stride], ... */
static void add_computed(const part *p, const structure *g, const uint32_t *binned, int64_t stride, int64_t len, int64_t K,
                         double *space, double *sums) {
    const family *f = &p->counts;
    double *P = space, *logs = P + K, *S = logs + K, *V = S + K, *H = V + K;
    for (int64_t i = 0; i < len; i++) {
        const uint32_t x = binned[f->members[0] * stride + i];
        if (f->margin[x] < 1e-9) continue;
        for (int64_t c = 0; c < K; c++) P[c] = (f->margin[x] + 1) / (f->total + f->states);
        memset(S, 0, 3 * K * sizeof *S);
        for (int64_t d = 0, at = 0;; d++) {
            const level *l = f->levels + d;
            const entry *cell = first_cell(l, at, x);
            const int occurs = cell < l->cells + l->cell_at[at + 1] && cell->x == x;
            if (!p->whole) add_factors(g, p, d, at, H);
            if (occurs || p->whole) {
                back_off(l, at, x, cell, g->theta, g->delta, P);
                for (int64_t c = 0; c < K; c++) logs[c] = log(P[c]);
                add_logs(p, d, K, logs, H, S, V);
            }
            if (d == f->parents) break;
            at = child(l, l + 1, at, binned[f->members[d + 1] * stride + i]);
            if (at < 0 || l[1].totals[at] < g->least) break;
        }
        for (int64_t c = 0; c < K; c++) sums[i * K + c] += V[c] + H[c];
    }
}

/* Writes the number of the longest context of each row. All rows descend together, so that the processor waits for the memory of many
   rows at a time. */
static void find_contexts(const part *p, const uint32_t *binned, int64_t stride, int64_t len, int32_t *at) {
    memset(at, 0, len * sizeof *at);
    for (int64_t d = 0; d < p->counts.parents; d++) {
        const uint32_t *codes = binned + p->counts.members[d + 1] * stride;
        const int64_t card = p->cards[d], first = p->first[d], start = p->starts[d];
        if (p->longest)
            for (int64_t i = 0; i < len; i++) at[i] = at[i] * (int32_t)card + (int32_t)codes[i];
        else
            for (int64_t i = 0; i < len; i++) {
                const int inside = at[i] >= first; /* else a shorter context is the last one of this row */
                const int32_t below = p->next[inside ? start + at[i] * card + codes[i] : start + first * card];
                at[i] = inside && below >= 0 ? below : at[i];
            }
    }
    for (int64_t i = 0; p->longest && i < len; i++) at[i] = p->longest[at[i]];
}

/* Adds the sums of one family to `sums` (row, class), from tables. */
INLINE void add_looked_up(const part *p, const uint32_t *binned, int64_t stride, int64_t len, const int64_t K, double *sums) {
    const int64_t X = p->cards[p->counts.parents];
    const uint32_t *values = binned + p->counts.members[0] * stride;
    int32_t at[MOST_ROWS], places[MOST_ROWS];
    find_contexts(p, binned, stride, len, at);
    if (!p->places) {
        for (int64_t i = 0; i < len; i++) prefetch(p->values + (at[i] * X + values[i]) * K, K);
        for (int64_t i = 0; i < len; i++) {
            const double *R = p->values + (at[i] * X + values[i]) * K;
            for (int64_t c = 0; c < K; c++) sums[i * K + c] += R[c];
        }
        return;
    }
    for (int64_t i = 0; i < len; i++) {
        places[i] = p->places[at[i] * X + values[i]];
        if (places[i] < 0) continue;
        prefetch(p->values + (int64_t)places[i] * K, K);
        prefetch(p->factors + at[i] * K, K);
    }
    for (int64_t i = 0; i < len; i++) {
        if (places[i] < 0) continue;
        const double *V = p->values + (int64_t)places[i] * K, *H = p->factors + at[i] * K;
        for (int64_t c = 0; c < K; c++) sums[i * K + c] += V[c] + H[c];
    }
}

/* Writes the bins of the rows from..from + len, those of a column side by side. */
static void look_up_bins(const structure *g, const model *m, const column *columns, int64_t from, int64_t len, int64_t stride,
                         uint32_t *binned) {
    for (int64_t x = 0; x < m->width; x++, binned += stride)
        for (int64_t i = 0; i < len; i++) binned[i] = g->bins[x][known_code(columns + x, m->states[x], from + i)];
}

static void add_structure(const structure *g, const model *m, const uint32_t *binned, int64_t stride, int64_t len, double *space,
                          double *sums, double *scores) {
    const int64_t K = m->K;
    memset(sums, 0, len * K * sizeof *sums);
    for (int64_t f = 0; f < g->count; f++) {
        const part *p = g->parts + f;
        if (!p->values) add_computed(p, g, binned, stride, len, K, space, sums);
        else if (K == 2) add_looked_up(p, binned, stride, len, 2, sums);
        else if (K == 3) add_looked_up(p, binned, stride, len, 3, sums);
        else if (K == 5) add_looked_up(p, binned, stride, len, 5, sums);
        else add_looked_up(p, binned, stride, len, K, sums);
    }
    for (int64_t i = 0; i < len; i++)
        for (int64_t c = 0; c < K; c++) scores[(i * m->channels + g->channel) * K + c] += sums[i * K + c];
}

/* Adds the sums of one tree for one row to `sums` (set, class), and P to `mean`, without tables. */
static void add_tree(const forest *f, const tree *t, const model *m, const uint16_t *codes, double *P, double *sums, double *mean) {
    const int64_t K = m->K, E = f->sets * K;
    double *S = P + K;
    for (int64_t c = 0; c < K; c++) P[c] = 1.0 / K;
    memset(S, 0, E * sizeof *S);
    for (int64_t at = 0, d = 0, done = 0;; d++) {
        const int64_t *node = t->nodes + 3 * at;
        const int64_t value = node[0] < 0 ? ENDS : codes[node[0]];
        node_posterior(t->counts + at * K, K, f->m, P);
        done = add_node(f, m->wanted, m->depths, d, done, value == ENDS, K, P, S);
        if (value == ENDS) break;
        at = node[2] + (node[1] == -1 ? value : node[1] < 0 ? value != -2 - node[1] : value > node[1]);
    }
    for (int64_t j = 0; j < E; j++) sums[j] += S[j];
    for (int64_t c = 0; c < K; c++) mean[c] += f->share * P[c];
}

INLINE int64_t descended(const step *s, const uint16_t *codes) {
    const uint16_t v = codes[s->column];
    return s->child + (s->range == EVERY ? v : (uint16_t)(v - s->low) > s->range);
}

/* The node that follows node `at`, which is `at` itself where a row ends; rows end at leaves only unless `ends`. */
INLINE int64_t next_node(const step *steps, int64_t at, const uint16_t *codes, const int ends) {
    return ends && codes[steps[at].column] == ENDS ? at : descended(steps + at, codes);
}

INLINE void add_trees(const forest *f, const uint16_t *codes, int64_t width, int64_t len, const int ends, const int64_t E,
                      const int64_t K, double *sums, double *mean) {
    int64_t at[MOST_ROWS + AT_ONCE];
    for (int64_t t = 0; t < f->count; t++) {
        const step *steps = f->trees[t].steps;
        const double *values = f->trees[t].ends;
        for (int64_t i = 0; i < len; i += AT_ONCE) {
            const uint16_t *row = codes + i * width;
            int64_t here[AT_ONCE] = {0};
            for (int64_t moved = 1; moved;) {
                moved = 0;
                for (int64_t k = 0; k < AT_ONCE; k++) {
                    const int64_t next = next_node(steps, here[k], row + k * width, ends);
                    moved |= next ^ here[k];
                    here[k] = next;
                }
            }
            for (int64_t k = 0; k < AT_ONCE; k++) {
                at[i + k] = here[k];
                prefetch(values + here[k] * (E + K), E + K);
            }
        }
        for (int64_t i = 0; i < len; i++) {
            const double *end = values + at[i] * (E + K);
            for (int64_t j = 0; j < E; j++) sums[i * E + j] += end[j];
            for (int64_t c = 0; c < K; c++) mean[i * K + c] += end[E + c];
        }
    }
}

static void add_forest(const forest *f, const model *m, const uint16_t *codes, int64_t len, int ends, double *space, double *sums,
                       double *mean, double *scores) {
    const int64_t K = m->K, E = f->sets * K, width = m->tree_width + 1;
    memset(sums, 0, len * E * sizeof *sums);
    memset(mean, 0, len * K * sizeof *mean);
    if (!f->trees->steps)
        for (int64_t t = 0; t < f->count; t++)
            for (int64_t i = 0; i < len; i++) add_tree(f, f->trees + t, m, codes + i * width, space, sums + i * E, mean + i * K);
    else if (ends) add_trees(f, codes, width, len, 1, E, K, sums, mean);
    else if (K == 2 && E == 2) add_trees(f, codes, width, len, 0, 2, 2, sums, mean);
    else add_trees(f, codes, width, len, 0, E, K, sums, mean);
    for (int64_t i = 0; i < len; i++) {
        double *row = scores + i * m->channels * K;
        for (int64_t c = 0; c < K; c++) {
            const double l = log(mean[i * K + c]);
            row[c] += sums[i * E + c] + f->mean_weight * l;
            if (f->sets == 2) row[f->channel * K + c] += sums[i * E + K + c];
            if (f->mean_channel) row[f->mean_channel * K + c] += l;
        }
    }
}

/* Adds a score for each row and class to its channels. */
INLINE void add_scores(const double *sums, int64_t len, int64_t K, int64_t channels, double weight, int64_t channel, double *scores) {
    for (int64_t i = 0; i < len; i++)
        for (int64_t c = 0; c < K; c++) {
            scores[i * channels * K + c] += weight * sums[i * K + c];
            if (channel) scores[(i * channels + channel) * K + c] += sums[i * K + c];
        }
}

static void add_linear(const model *m, const column *columns, int64_t from, int64_t len, double *sums, double *scores) {
    const int64_t K = m->K;
    for (int64_t i = 0; i < len; i++) memcpy(sums + i * K, m->linear_base, K * sizeof *sums);
    for (int64_t j = 0; j < m->linear_count; j++) {
        const int64_t x = m->linear_columns[j];
        for (int64_t i = 0; i < len; i++) {
            const double *values = m->linear_tables[j] + known_code(columns + x, m->states[x], from + i) * K;
            for (int64_t c = 0; c < K; c++) sums[i * K + c] += values[c];
        }
    }
    add_scores(sums, len, K, m->channels, m->linear_weight, m->linear_channel, scores);
}

INLINE void add_boosted(const model *m, const uint16_t *codes, int64_t len, const int ends, double *sums, double *scores) {
    const boosted *b = m->boosted;
    const int64_t K = m->K, width = m->tree_width + 1;
    for (int64_t i = 0; i < len; i++) memcpy(sums + i * K, m->boosted_base, K * sizeof *sums);
    for (int64_t t = 0; t < b->count; t++) {
        const step *steps = b->steps + b->starts[t];
        const double *values = b->values + b->starts[t];
        double *out = sums + t % (K - b->first) + b->first;
        for (int64_t i = 0; i < len; i += AT_ONCE) {
            const uint16_t *row = codes + i * width;
            int64_t at[AT_ONCE] = {0};
            for (int64_t d = 0; d < b->depths[t]; d++)
                for (int64_t k = 0; k < AT_ONCE; k++) at[k] = next_node(steps, at[k], row + k * width, ends);
            for (int64_t k = 0; k < AT_ONCE && i + k < len; k++) out[(i + k) * K] += values[at[k]];
        }
    }
    add_scores(sums, len, K, m->channels, m->boosted_weight, m->boosted_channel, scores);
}

/* Adds share * softmax(temperature * scores) to `posterior`; the scores are changed. */
INLINE void add_softmax(double *scores, int64_t K, double share, double temperature, double *posterior) {
    double top = -INFINITY, sum = 0;
    for (int64_t c = 0; c < K; c++) {
        scores[c] *= temperature;
        if (scores[c] > top) top = scores[c];
    }
    for (int64_t c = 0; c < K; c++) sum += scores[c] = exp(scores[c] - top);
    for (int64_t c = 0; c < K; c++) posterior[c] += share * (scores[c] / sum);
}

static void write_posterior(const model *m, double *scores, double *posterior) {
    const int64_t K = m->K;
    for (int64_t c = 0; c < K; c++) posterior[c] = 0.0;
    add_softmax(scores, K, m->shares ? m->shares[0] : 1.0, 1.0, posterior);
    if (!m->shares) return;
    for (int64_t j = 1; j < m->channels; j++) add_softmax(scores + j * K, K, m->shares[j], m->temperatures[j - 1], posterior);
    double sum = 0;
    for (int64_t c = 0; c < K; c++) sum += posterior[c] += m->shares[m->channels] * m->prior[c];
    for (int64_t c = 0; c < K; c++) posterior[c] /= sum;
}

/* Whether a value of an informative feature is observed, that is, has a code other than the largest one of its type. */
INLINE int observed(const model *m, const column *columns, int64_t r) {
    for (int64_t j = 0; j < m->informative_count; j++) {
        const column *c = columns + m->informative[j];
        if (code(c, r) != (c->item == 1 ? UINT8_MAX : c->item == 2 ? UINT16_MAX : UINT32_MAX)) return 1;
    }
    return 0;
}

/* Writes the codes for trees of column j of the rows from..from + len, those of a row side by side; returns whether any is ENDS. */
INLINE int tree_codes(const model *m, const column *c, int64_t j, int64_t from, int64_t len, uint16_t *codes) {
    const int64_t states = m->states[m->tree_columns[j]], missing = m->tree_missing[j];
    int ends = 0;
    for (int64_t i = 0; i < len; i++) {
        const int64_t value = code(c, from + i), known = value < states ? value : missing;
        codes[i * (m->tree_width + 1) + j] = (uint16_t)known;
        ends |= known == ENDS;
    }
    return ends;
}

/* Writes P(class | row) of the rows from..to. Returns 0 if there is not enough memory. */
API int naivete_spectrum_posterior(const model *m, const column *columns, int64_t from, int64_t to, double *posterior) {
    const int64_t K = m->K, width = m->width, row = m->channels * K;
    int64_t stride = (1 << 18) / (width + 1) / AT_ONCE * AT_ONCE; /* rows at a time: their codes stay in the cache */
    if (stride > MOST_ROWS) stride = MOST_ROWS;
    if (stride > to - from) stride = to - from;
    if (stride < AT_ONCE) stride = AT_ONCE;
    uint32_t *binned = malloc(stride * (width + 1) * sizeof *binned);
    const int64_t tree_width = m->tree_width + 1; /* the last column has the code of leaves, 0 */
    uint16_t *codes = calloc((stride + AT_ONCE) * tree_width, sizeof *codes);
    double *space = malloc((stride * (row + 3 * K) + 8 * K) * sizeof *space);
    const int ok = binned && codes && space;
    double *scores = space, *sums = scores + stride * row, *mean = sums + stride * 2 * K, *small = mean + stride * K;
    int ends = 0; /* whether a code for trees is ENDS, also one of an earlier row, which may be left behind the last rows */
    for (; ok && from < to; from += stride) {
        const int64_t len = to - from < stride ? to - from : stride;
        for (int64_t i = 0; i < len; i++) memcpy(scores + i * row, m->constant, row * sizeof *scores);
        for (int64_t g = 0; g < m->structure_count; g++) {
            const structure *one = m->structures + g;
            if (!g || one->bins != one[-1].bins) look_up_bins(one, m, columns, from, len, stride, binned);
            add_structure(one, m, binned, stride, len, small, sums, scores);
        }
        for (int64_t j = 0; j < m->tree_width; j++) ends |= tree_codes(m, columns + m->tree_columns[j], j, from, len, codes);
        for (int64_t g = 0; g < m->forest_count; g++) add_forest(m->forests + g, m, codes, len, ends, small, sums, mean, scores);
        add_linear(m, columns, from, len, sums, scores);
        if (m->boosted && ends) add_boosted(m, codes, len, 1, sums, scores);
        else if (m->boosted) add_boosted(m, codes, len, 0, sums, scores);
        for (int64_t i = 0; i < len; i++)
            if (observed(m, columns, from + i)) write_posterior(m, scores + i * row, posterior + (from + i) * K);
            else memcpy(posterior + (from + i) * K, m->unknown, K * sizeof *posterior);
    }
    free(binned);
    free(codes);
    free(space);
    return ok;
}
