/* The structs of a spectrum, as spectrum.py lays them out, and what prediction with tables and without them share. */

#ifndef NAIVETE_SPECTRUM_H
#define NAIVETE_SPECTRUM_H

#include <math.h>
#include <string.h>

#include "contexts.h"

typedef struct {
    family counts;
    const double *weights; /* the weight of log P at each depth */
    const double *tails;   /* the sum of the weights from each depth on */
    int64_t whole;         /* whether some P could be below SMALLEST: then the sum is not split into two parts */
    const int64_t *cards;  /* number of bins of each parent, and of x */
    const int64_t *first;  /* the number of the first context of each depth; the following are NULL without tables */
    const int64_t *starts; /* next[starts[d] + context * cards[d] + code] is the context of the next depth, -1 if there is none */
    const int32_t *next;
    const int32_t *longest; /* the longest context of each combination of the codes of the parents; NULL if there are too many */
    const int32_t *places;  /* (context, x): the position in `values`, -1 where x never occurred; NULL if `values` has all pairs */
    const double *values;   /* (position, class), or the whole sum (context, x, class) */
    const double *factors;  /* (context, class) */
} part;

typedef struct {
    const part *parts;
    int64_t count;
    const uint32_t *const *bins; /* for each column the bin of every code, and last of missing */
    double theta, delta, least;
    int64_t channel;
} structure;

typedef struct {
    uint16_t column, low, range; /* the second branch is taken if the code minus `low`, as an unsigned number, is larger than `range` */
    uint16_t child;              /* the first child */
} step;

/* The range of a node in which every code has a branch of its own. That of a leaf, too: its column has the code 0 in all rows. */
enum { EVERY = UINT16_MAX };

/* The code for trees of a missing value of a column that had none in training: a row ends at the node that splits by it. Columns by
   which trees split have fewer states. */
enum { ENDS = UINT16_MAX };

typedef struct {
    const int64_t *nodes;
    const double *counts; /* (node, class) */
    const step *steps;    /* NULL without tables */
    const double *ends; /* (node, set, class) the weighted sum of a row that ends there, then (node, class) P */
} tree;

typedef struct {
    const tree *trees;
    int64_t count;
    double m, share;
    const double *weights, *tails; /* (set, depth) */
    int64_t sets, channel;         /* the number of sets, and the channel of the second one */
    double mean_weight;            /* the weight of the logarithm of the mean posterior */
    int64_t mean_channel;          /* and its channel, 0 if it is no single term */
} forest;

typedef struct {
    const step *steps;
    const double *values;
    const int64_t *starts; /* the first node of each tree */
    const int64_t *depths;
    int64_t count, first; /* tree i is of class i % (K - first) + first */
} boosted;

typedef struct {
    int64_t K, width, channels, depths;
    const int64_t *states;
    const int64_t *tree_columns; /* the columns by which trees split, of which they have the positions here */
    int64_t tree_width;
    const int64_t *tree_missing; /* the code of a missing value in each of them: the number of states, or ENDS */
    const int64_t *wanted; /* the depths of trees */
    const structure *structures;
    int64_t structure_count;
    const forest *forests;
    int64_t forest_count;
    const int64_t *linear_columns;
    const double *const *linear_tables; /* (code, class) */
    int64_t linear_count, linear_channel;
    double linear_weight;
    const double *linear_base;
    const boosted *boosted; /* NULL if there is none */
    int64_t boosted_channel;
    double boosted_weight;
    const double *boosted_base;
    const double *constant; /* (channel, class) */
    const double *shares;   /* of the channels and of the prior; NULL without a mixture */
    const double *temperatures;
    const double *prior, *unknown; /* of the mixture; the posterior of a row without observed values */
    const int64_t *informative;
    int64_t informative_count;
} model;

/* Writes the P of one value of x in all classes, given those in the shorter context; `cell` is its first cell in the context. */
INLINE void back_off(const level *l, int64_t at, uint32_t x, const entry *cell, double theta, double delta, double *P) {
    const entry *stop = l->cells + l->cell_at[at + 1];
    for (const entry *e = l->classes + l->class_at[at], *last = l->classes + l->class_at[at + 1]; e < last; e++) {
        while (cell < stop && cell->x == x && cell->c < e->c) cell++;
        const double n = cell < stop && cell->x == x && cell->c == e->c ? cell->n : 0.0;
        P[e->c] = backed_off(n, e->n, e->x, P[e->c], theta, delta);
    }
}

/* Adds the weighted logarithms of the factors of a context at depth d to H (class). */
INLINE void add_factors(const structure *g, const part *p, int64_t d, int64_t at, double *H) {
    const level *l = p->counts.levels + d;
    for (const entry *e = l->classes + l->class_at[at], *last = l->classes + l->class_at[at + 1]; e < last; e++)
        H[e->c] += p->tails[d] * log((g->theta + g->delta * e->x) / (e->n + g->theta));
}

/* Writes the sums of one value of x up to a context, S (class), and those with the larger depths in this context, V. */
INLINE void add_logs(const part *p, int64_t d, int64_t K, const double *logs, const double *H, double *S, double *V) {
    for (int64_t c = 0; c < K; c++) {
        V[c] = S[c] + p->tails[d] * logs[c] - H[c];
        S[c] += p->weights[d] * logs[c];
    }
}

/* Writes P (class) of a node, given that of its parent. */
INLINE void node_posterior(const double *counts, int64_t K, double m, double *P) {
    double N = -0.0;
    for (int64_t c = 0; c < K; c++) N += counts[c];
    if (N > 1e-9)
        for (int64_t c = 0; c < K; c++) {
            P[c] = (counts[c] + m * P[c]) / (N + m);
            if (P[c] < SMALLEST) P[c] = SMALLEST;
        }
}

/* Adds the weighted log P of a node at depth d to S (set, class); `done` depths are already in it. If a row ends there, it counts for
   all further depths. Returns how many are in it now. */
INLINE int64_t add_node(const forest *f, const int64_t *wanted, int64_t depths, int64_t d, int64_t done, int end, int64_t K,
                        const double *P, double *S) {
    if (done == depths || !(end || wanted[done] == d)) return done;
    for (int64_t c = 0; c < K; c++) {
        const double l = log(P[c]);
        for (int64_t s = 0; s < f->sets; s++) S[s * K + c] += (end ? f->tails : f->weights)[s * depths + done] * l;
    }
    return end ? depths : done + 1;
}

#endif
