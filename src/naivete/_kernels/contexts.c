/* Counts of a feature in nested contexts: for the parents p1, p2, ... of a feature x the contexts (), (p1), (p1, p2), ...

   The counts of one family are a tree of contexts. The contexts of one depth are stored together, those that extend the same
   context side by side and in the order of their last code. The NumPy versions are in contexts_numpy.py and context_trees.py. */

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "contexts.h"

enum { BATCH = 512 };

/* The bin of a row: its code looked up, the last bin where the code is missing. */
INLINE uint32_t bin(const column *c, const uint32_t *bins, int64_t states, int64_t r) {
    return bins[known_code(c, states, r)];
}

/* Computes for the rows from..to the position of each row in a table whose axes are some binned columns, the last varying fastest. */
API void naivete_context_keys(const column *columns, const uint32_t *const *bins, const int64_t *states, const int64_t *members,
                              const int64_t *cards, int64_t axes, int64_t from, int64_t to, uint64_t *keys) {
    for (; from < to; from += BATCH) {
        const int64_t len = to - from < BATCH ? to - from : BATCH;
        uint64_t *out = keys + from;
        memset(out, 0, len * sizeof *out);
        for (int64_t m = 0; m < axes; m++) {
            const int64_t j = members[m];
            for (int64_t i = 0; i < len; i++) out[i] = out[i] * cards[m] + bin(columns + j, bins[j], states[j], from + i);
        }
    }
}

/* Sorts the keys, which are below 2^bits; the result is in `keys`. */
static void sort_keys(uint64_t *keys, uint64_t *other, int64_t n, int64_t bits) {
    enum { DIGIT = 11, SIZE = 1 << DIGIT };
    uint64_t *from = keys, *to = other;
    if (n < 64) {
        for (int64_t i = 1; i < n; i++) {
            const uint64_t k = keys[i];
            int64_t j = i;
            for (; j > 0 && keys[j - 1] > k; j--) keys[j] = keys[j - 1];
            keys[j] = k;
        }
        return;
    }
    for (int64_t shift = 0; shift < bits; shift += DIGIT) {
        int64_t place[SIZE] = {0};
        for (int64_t i = 0; i < n; i++) place[from[i] >> shift & (SIZE - 1)]++;
        int64_t sum = 0;
        for (int64_t d = 0; d < SIZE; d++) {
            const int64_t here = place[d];
            place[d] = sum;
            sum += here;
        }
        for (int64_t i = 0; i < n; i++) to[place[from[i] >> shift & (SIZE - 1)]++] = from[i];
        uint64_t *swap = from;
        from = to;
        to = swap;
    }
    if (from != keys) memcpy(keys, from, n * sizeof *keys);
}

/* Replaces sorted keys by the distinct ones and writes how often each occurs; returns their number. */
static int64_t count_keys(uint64_t *keys, int64_t n, int64_t *counts) {
    int64_t m = -1;
    for (int64_t i = 0; i < n; i++) {
        if (m < 0 || keys[i] != keys[m]) {
            keys[++m] = keys[i];
            counts[m] = 0;
        }
        counts[m]++;
    }
    return m + 1;
}

/* Writes for several tables, whose axes[i] members and cards follow one another, the distinct keys of the rows, increasing, how
   often each occurs, and (in `numbers`) how many there are. The keys of table i are below 2^bits[i]. There is room for the keys of
   all rows and tables, and in `other` for those of one table. */
API void naivete_context_counts(const column *columns, const uint32_t *const *bins, const int64_t *states, const int64_t *members,
                                const int64_t *cards, const int64_t *axes, const int64_t *bits, int64_t tables, int64_t rows,
                                uint64_t *keys, uint64_t *other, int64_t *counts, int64_t *numbers) {
    for (int64_t i = 0; i < tables; i++) {
        naivete_context_keys(columns, bins, states, members, cards, axes[i], 0, rows, keys);
        sort_keys(keys, other, rows, bits[i]);
        numbers[i] = count_keys(keys, rows, counts);
        members += axes[i];
        cards += axes[i];
        keys += numbers[i];
        counts += numbers[i];
    }
}

static int by_feature(const void *a, const void *b) {
    const entry *p = a, *q = b;
    return p->x != q->x ? (p->x < q->x ? -1 : 1) : p->c < q->c ? -1 : p->c > q->c;
}

/* Sorts cells by code and class, and adds up equal ones; returns their number. */
static int64_t combine(entry *cells, int64_t n) {
    if (n < 24)
        for (int64_t i = 1; i < n; i++) {
            const entry e = cells[i];
            int64_t j = i;
            for (; j > 0 && by_feature(cells + j - 1, &e) > 0; j--) cells[j] = cells[j - 1];
            cells[j] = e;
        }
    else qsort(cells, n, sizeof *cells, by_feature);
    int64_t m = -1;
    for (int64_t i = 0; i < n; i++) {
        if (m >= 0 && cells[i].x == cells[m].x && cells[i].c == cells[m].c) cells[m].n += cells[i].n;
        else cells[++m] = cells[i];
    }
    return m + 1;
}

/* Bytes of an array in a pool, so that the next one is aligned. */
INLINE int64_t padded(int64_t bytes) { return (bytes + 15) / 16 * 16; }

/* Lays out the arrays of depth + 1 levels in a pool, those of level d with room for the given numbers of contexts, class entries
   and cells (sizes[3 d], ...); copies what `from` holds, unless it is NULL. Returns the number of bytes; with pool = NULL nothing
   is written. */
API int64_t naivete_place_contexts(const level *from, const int64_t *sizes, int64_t depth, uint8_t *pool, level *to) {
    int64_t used = 0;
    for (int64_t d = 0; d <= depth; d++) {
        const int64_t m = sizes[3 * d];
        const int64_t bytes[7] = {m * 4, (m + 1) * 8, m * 8, (m + 1) * 8, sizes[3 * d + 1] * 16, (m + 1) * 8, sizes[3 * d + 2] * 16};
        for (int64_t i = 0; i < 7; i++) {
            if (pool) {
                uint8_t *target = pool + used;
                if (from && !(i == 1 && d == depth)) memcpy(target, ((void *const *)(from + d))[i], bytes[i]);
                else if (from) memset(target, 0, bytes[i]);
                ((void **)(to + d))[i] = target;
            }
            used += padded(bytes[i]);
        }
    }
    return used;
}

/* Writes the most contexts, class entries and cells of each level that n keys can have; returns the bytes of such levels. */
API int64_t naivete_contexts_room(int64_t n, const int64_t *cards, int64_t depth, int64_t *room) {
    int64_t space = 1; /* the contexts of a level, at most n + 1 */
    for (int64_t d = 0; d <= depth; d++) {
        const int64_t contexts = space < n ? space : n, classes = contexts * cards[depth + 1];
        room[3 * d] = depth ? n : 1; /* the first places of the next level are written for all contexts */
        room[3 * d + 1] = classes < n ? classes : n;
        room[3 * d + 2] = n;
        space = space * cards[d] < n + 1 ? space * cards[d] : n + 1;
    }
    return naivete_place_contexts(NULL, room, depth, NULL, NULL);
}

/* Builds the levels 0..depth from distinct sorted keys over (p1, ..., p_depth, x, class). Contexts of less weight than `least`
   are left out, except the empty one. `sizes` receives contexts, class entries and cells of each level, `margin` the weight of each
   code of x. The levels are laid out in a pool that has `room` for them. Returns 0 if there is not enough memory. */
API int naivete_contexts(const uint64_t *keys, const double *counts, int64_t n, const int64_t *cards, int64_t depth, double least,
                         const int64_t *room, uint8_t *pool, level *levels, int64_t *sizes, double *margin) {
    naivete_place_contexts(NULL, room, depth, pool, levels);
    const uint64_t K = cards[depth + 1], X = cards[depth];
    entry *cells = malloc((n + 1) * sizeof *cells);
    int64_t *starts = malloc((n + 2) * sizeof *starts);   /* first cell of each context of the present level, unpruned */
    uint64_t *prefix = malloc((n + 1) * sizeof *prefix);
    int64_t *number = malloc((n + 1) * sizeof *number);   /* position among the contexts kept, of the level below; -1 if left out */
    double *of_class = calloc(K, sizeof *of_class);
    uint32_t *kinds = calloc(K, sizeof *kinds);
    double *dense = calloc(X * K, sizeof *dense);
    int ok = cells && starts && prefix && number && of_class && kinds && dense;
    if (!ok) goto done;
    int64_t m = 0; /* contexts of this level */
    for (int64_t i = 0; i < n; i++) {
        const uint64_t p = keys[i] / K / X;
        if (!m || prefix[m - 1] != p) {
            prefix[m] = p;
            starts[m++] = i;
        }
        cells[i] = (entry){counts[i], (uint32_t)(keys[i] % K), (uint32_t)(keys[i] / K % X)};
    }
    starts[m] = n;
    for (int64_t d = depth; d >= 0; d--) {
        level *l = levels + d;
        int64_t kept = 0, classes = 0, written = 0;
        for (int64_t i = 0; i < m; i++) {
            const entry *e = cells + starts[i], *end = cells + starts[i + 1];
            double total = 0;
            for (const entry *q = e; q < end; q++) total += q->n;
            if (d && total < least) {
                number[i] = -1;
                continue;
            }
            l->codes[kept] = d ? (uint32_t)(prefix[i] % cards[d - 1]) : 0;
            l->totals[kept] = total;
            l->class_at[kept] = classes;
            l->cell_at[kept] = written;
            for (const entry *q = e; q < end; q++) {
                l->cells[written++] = *q;
                of_class[q->c] += q->n;
                kinds[q->c]++;
            }
            if ((uint64_t)(end - e) < K) { /* few cells: the classes that occur, in order */
                int64_t first = classes;
                for (const entry *q = e; q < end; q++)
                    if (kinds[q->c]) {
                        int64_t j = classes++;
                        for (; j > first && l->classes[j - 1].c > q->c; j--) l->classes[j] = l->classes[j - 1];
                        l->classes[j] = (entry){of_class[q->c], q->c, kinds[q->c]};
                        of_class[q->c] = 0;
                        kinds[q->c] = 0;
                    }
            } else
                for (uint64_t c = 0; c < K; c++)
                    if (kinds[c]) {
                        l->classes[classes++] = (entry){of_class[c], (uint32_t)c, kinds[c]};
                        of_class[c] = 0;
                        kinds[c] = 0;
                    }
            number[i] = kept++;
        }
        l->class_at[kept] = classes;
        l->cell_at[kept] = written;
        sizes[3 * d] = kept;
        sizes[3 * d + 1] = classes;
        sizes[3 * d + 2] = written;
        if (!d) break;
        /* the level above: contexts joined, their cells combined; which of the contexts kept here belong to each */
        int64_t above = 0, out = 0, seen = 0;
        level *u = levels + d - 1;
        for (int64_t i = 0; i < m;) {
            const uint64_t p = prefix[i] / cards[d - 1];
            int64_t j = i, first = seen;
            while (j < m && prefix[j] / cards[d - 1] == p) seen += number[j++] >= 0;
            const int64_t from = starts[i], len = starts[j] - from;
            const int64_t room = (int64_t)(X * K);
            int64_t left;
            if (j == i + 1) {
                memmove(cells + out, cells + from, len * sizeof *cells);
                left = len;
            } else if (room <= 4 * len) {
                for (int64_t q = from; q < from + len; q++) dense[cells[q].x * K + cells[q].c] += cells[q].n;
                left = 0;
                for (int64_t q = 0; q < room; q++)
                    if (dense[q] > 0) {
                        cells[out + left++] = (entry){dense[q], (uint32_t)(q % K), (uint32_t)(q / K)};
                        dense[q] = 0;
                    }
            } else {
                memmove(cells + out, cells + from, len * sizeof *cells);
                left = combine(cells + out, len);
            }
            prefix[above] = p;
            starts[above] = out;
            u->children[above] = first; /* of all contexts above; those left out are removed below */
            above++;
            out += left;
            i = j;
        }
        starts[above] = out;
        u->children[above] = seen;
        m = above;
        /* remove the ranges of the contexts above that will be left out: they have no children that are kept */
        if (d > 1) {
            int64_t w = 0;
            for (int64_t i = 0; i < m; i++) {
                double total = 0;
                for (int64_t q = starts[i]; q < starts[i + 1]; q++) total += cells[q].n;
                if (total >= least) u->children[w++] = u->children[i];
            }
            u->children[w] = seen;
        }
    }
    memset(margin, 0, X * sizeof *margin);
    for (int64_t i = 0; i < sizes[2]; i++) margin[levels->cells[i].x] += levels->cells[i].n;
done:
    free(cells);
    free(starts);
    free(prefix);
    free(number);
    free(of_class);
    free(kinds);
    free(dense);
    return ok;
}

/* Moves the exponents of products into integers, so that nothing underflows. */
INLINE void settle(double *mantissa, int32_t *exponent, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        uint64_t u;
        memcpy(&u, mantissa + i, 8);
        exponent[i] += (int32_t)(u >> 52 & 0x7FF) - 1023;
        u = (u & 0x800FFFFFFFFFFFFFull) | 0x3FF0000000000000ull;
        memcpy(mantissa + i, &u, 8);
    }
}

/* The rows from..to of some columns with their bins, and the families of features whose contexts are looked up. */
typedef struct {
    const column *columns;
    const uint32_t *const *bins;
    const int64_t *states;
    int64_t width;
    const family *families;
    int64_t count, depth, K;
    double theta, delta, least;
    const uint32_t *labels;
    const double *leave, *prior;
    int64_t from, to;
    double *out, *first;
    uint32_t *binned;  /* (column, row of BATCH) */
    double *mantissa;  /* (depth, row of BATCH, class): the products of the probabilities, and their exponents */
    int32_t *exponent;
    double *P;         /* of K numbers */
} lookup;

/* Multiplies the products of one row, `row` of the batch and `r` of all, by P_d(x | class, context) of a family at each depth d. */
INLINE void multiply_family(const lookup *t, const int64_t K, int64_t f, int64_t row, int64_t r) {
    const family *g = t->families + f;
    const uint32_t x = t->binned[g->members[0] * BATCH + row];
    const double w = t->leave ? t->leave[r] : 0.0;
    const uint32_t y = t->leave ? t->labels[r] : UINT32_MAX;
    double *restrict product = t->mantissa + row * K, *restrict P = t->P;
    double *first = t->first ? t->first + (r * t->count + f) * K : NULL;
    const double nx = g->margin[x] - w;
    if (first)
        for (int64_t c = 0; c < K; c++) first[c] = 0.0;
    if (nx < 1e-9) return;
    const double base = (nx + 1) / (g->total - w + g->states);
    for (int64_t c = 0; c < K; c++) P[c] = base;
    int64_t at = 0, d = 0;
    for (;; d++) {
        const level *l = g->levels + d;
        const entry *cell = first_cell(l, at, x), *stop = l->cells + l->cell_at[at + 1];
        const entry *e = l->classes + l->class_at[at], *last = l->classes + l->class_at[at + 1];
        for (; e < last; e++) {
            while (cell < stop && cell->x == x && cell->c < e->c) cell++;
            double n = cell < stop && cell->x == x && cell->c == e->c ? cell->n : 0.0, N = e->n, kinds = e->x;
            if (e->c == y) {
                N -= w;
                n -= w;
                if (n < 1e-9) n = 0.0, kinds -= 1.0;
                if (N < 1e-9) continue;
            }
            P[e->c] = backed_off(n, N, kinds, P[e->c], t->theta, t->delta);
        }
        for (int64_t c = 0; c < K; c++) product[d * BATCH * K + c] *= P[c];
        if (first && !d)
            for (int64_t c = 0; c < K; c++) first[c] = log(P[c]);
        if (d == g->parents) break;
        const int64_t next = child(l, l + 1, at, t->binned[g->members[d + 1] * BATCH + row]);
        if (next < 0 || l[1].totals[next] - w < t->least) break;
        at = next;
    }
    for (d++; d <= t->depth; d++)
        for (int64_t c = 0; c < K; c++) product[d * BATCH * K + c] *= P[c];
}

INLINE void logs_of_classes(const lookup *t, const int64_t K) {
    const int64_t D = t->depth + 1;
    double *mantissa = t->mantissa;
    int32_t *exponent = t->exponent;
    for (int64_t from = t->from; from < t->to; from += BATCH) {
        const int64_t len = t->to - from < BATCH ? t->to - from : BATCH;
        for (int64_t j = 0; j < t->width; j++)
            for (int64_t i = 0; i < len; i++) t->binned[j * BATCH + i] = bin(t->columns + j, t->bins[j], t->states[j], from + i);
        for (int64_t d = 0; d < D; d++)
            for (int64_t i = d * BATCH * K; i < (d * BATCH + len) * K; i++) mantissa[i] = 1.0, exponent[i] = 0;
        for (int64_t f = 0; f < t->count; f++) {
            for (int64_t i = 0; i < len; i++) multiply_family(t, K, f, i, from + i);
            if (f % 8 == 7)
                for (int64_t d = 0; d < D; d++) settle(mantissa + d * BATCH * K, exponent + d * BATCH * K, len * K);
        }
        for (int64_t i = 0; i < len; i++)
            for (int64_t d = 0; d < D; d++) {
                const int64_t at = (d * BATCH + i) * K;
                double *z = t->out + ((from + i) * D + d) * K, top = -INFINITY, sum = 0;
                for (int64_t c = 0; c < K; c++) {
                    z[c] = log(mantissa[at + c]) + exponent[at + c] * 0.69314718055994530942 + t->prior[(from + i) * K + c];
                    if (z[c] > top) top = z[c];
                }
                for (int64_t c = 0; c < K; c++) sum += exp(z[c] - top);
                top += log(sum);
                for (int64_t c = 0; c < K; c++) z[c] -= top;
            }
    }
}

/* For a small known number of classes the loops over the classes are unrolled. */
static void logs(const lookup *t) {
    switch (t->K) {
    case 2: logs_of_classes(t, 2); break;
    case 3: logs_of_classes(t, 3); break;
    case 4: logs_of_classes(t, 4); break;
    case 5: logs_of_classes(t, 5); break;
    case 6: logs_of_classes(t, 6); break;
    case 7: logs_of_classes(t, 7); break;
    default: logs_of_classes(t, t->K);
    }
}

/* Writes for the rows from..to and the depths 0..depth the log-posteriors of the classes: prior (row, class) plus the sum over the
   families of log P_d(x | class, context), normalized. leave[r] is the weight of row r that is left out of all counts, in class
   labels[r]; with leave = NULL nothing is left out. `first` receives the terms of the families at depth 0, unless it is NULL. */
API int naivete_context_logs(const column *columns, const uint32_t *const *bins, const int64_t *states, int64_t width,
                             const family *families, int64_t count, int64_t depth, int64_t K, double theta, double delta,
                             double least, const uint32_t *labels, const double *leave, const double *prior, int64_t from,
                             int64_t to, double *out, double *first) {
    uint32_t *binned = malloc(BATCH * width * sizeof *binned);
    double *mantissa = malloc(BATCH * (depth + 1) * K * sizeof *mantissa);
    int32_t *exponent = malloc(BATCH * (depth + 1) * K * sizeof *exponent);
    double *P = malloc(K * sizeof *P);
    const int ok = binned && mantissa && exponent && P;
    const lookup t = {columns, bins, states, width, families, count, depth, K, theta, delta, least, labels, leave, prior,
                      from, to, out, first, binned, mantissa, exponent, P};
    if (ok) logs(&t);
    free(binned);
    free(mantissa);
    free(exponent);
    free(P);
    return ok;
}
