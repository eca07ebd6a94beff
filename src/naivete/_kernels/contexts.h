/* The counts of a feature in nested contexts, which contexts.c makes, and the estimate of its probabilities. */

#ifndef NAIVETE_CONTEXTS_H
#define NAIVETE_CONTEXTS_H

#include "columns.h"

typedef struct {
    double n;      /* weight of the cases of class c, or of class c with code x */
    uint32_t c;    /* class */
    uint32_t x;    /* code of the feature; in the entry of a class: how many codes occur with it */
} entry;

typedef struct {
    uint32_t *codes;    /* last code of each context */
    int64_t *children;  /* first context of the next depth, and the end */
    double *totals;     /* weight of each context */
    int64_t *class_at;  /* first entry of its classes, and the end */
    entry *classes;
    int64_t *cell_at;   /* first entry of its cells, and the end */
    entry *cells;
} level;

typedef struct {
    const double *margin; /* weight of each bin of x */
    const int64_t *members; /* the column of x, then those of its parents */
    const level *levels;
    int64_t parents;
    double states; /* number of bins of x that can occur */
    double total;  /* weight of all cases */
} family;

/* P of a value of x with the weight n, in a class with the weight N and t values, from P of the shorter context. */
INLINE double backed_off(double n, double N, double t, double P, double theta, double delta) {
    const double high = n > delta ? n - delta : 0.0;
    P = (high + (theta + delta * t) * P) / (N + theta);
    return P < SMALLEST ? SMALLEST : P;
}

INLINE int64_t child(const level *l, const level *below, int64_t at, uint32_t p) {
    int64_t lo = l->children[at], hi = l->children[at + 1];
    while (hi - lo > 8) {
        const int64_t mid = (lo + hi) / 2;
        if (below->codes[mid] <= p) lo = mid;
        else hi = mid;
    }
    for (; lo < hi; lo++)
        if (below->codes[lo] == p) return lo;
    return -1;
}

/* Returns the first cell of a context that has the code x, or one with a larger code or the end where there is none. */
INLINE const entry *first_cell(const level *l, int64_t at, uint32_t x) {
    const entry *cell = l->cells + l->cell_at[at], *stop = l->cells + l->cell_at[at + 1];
    while (stop - cell > 8) {
        const entry *mid = cell + (stop - cell) / 2;
        if (mid->x < x) cell = mid + 1;
        else stop = mid;
    }
    while (cell < l->cells + l->cell_at[at + 1] && cell->x < x) cell++;
    return cell;
}

#endif
