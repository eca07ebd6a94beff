/* The tables from which spectrum.c predicts many rows: they are computed by the same operations in the same order as without them. */

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "spectrum.h"

/* Returns a lower bound of all P of a family, 0 if there is not enough memory. */
API double naivete_context_lowest(const family *f, const int64_t *sizes, int64_t values, double theta, double delta) {
    double least = INFINITY, *bounds = malloc(sizeof *bounds);
    if (!bounds) return 0.0;
    for (int64_t x = 0; x < values; x++)
        if (f->margin[x] >= 1e-9 && f->margin[x] < least) least = f->margin[x];
    double lowest = bounds[0] = (least + 1) / (f->total + f->states);
    for (int64_t d = 0; d <= f->parents; d++) {
        const level *l = f->levels + d;
        double *below = malloc((d < f->parents ? sizes[3 * d + 3] + 1 : 1) * sizeof *below);
        for (int64_t at = 0; below && at < sizes[3 * d]; at++) {
            double factor = 1.0;
            for (const entry *e = l->classes + l->class_at[at], *last = l->classes + l->class_at[at + 1]; e < last; e++) {
                const double one = (theta + delta * e->x) / (e->n + theta);
                if (one < factor) factor = one;
            }
            bounds[at] *= factor;
            if (bounds[at] < lowest) lowest = bounds[at];
            if (d < f->parents)
                for (int64_t i = l->children[at]; i < l->children[at + 1]; i++) below[i] = bounds[at];
        }
        free(bounds);
        bounds = below;
        if (!bounds) return 0.0;
    }
    free(bounds);
    return lowest;
}

typedef struct {
    const part *p;
    const structure *g;
    int64_t K, X, made;
    double *P, *logs, *S; /* (depth, x, class): those of the present context and of the shorter ones */
    int32_t *next, *longest, *places;
    double *values, *factors;
} builder;

/* Adds one value of x in a context to the tables; `cell` is its first cell there, or one of a larger value where it does not occur. */
static void add_value(builder *b, int64_t d, int64_t at, uint32_t x, const entry *cell, const double *H, int32_t *places) {
    const family *f = &b->p->counts;
    const level *l = f->levels + d;
    const int64_t K = b->K, before = b->X * K;
    double *P = b->P + (d * b->X + x) * K, *logs = b->logs + (d * b->X + x) * K, *S = b->S + (d * b->X + x) * K;
    for (int64_t c = 0; c < K; c++) {
        P[c] = d ? P[c - before] : (f->margin[x] + 1) / (f->total + f->states);
        logs[c] = d ? logs[c - before] : log(P[c]);
        S[c] = d ? S[c - before] : 0.0;
    }
    back_off(l, at, x, cell, b->g->theta, b->g->delta, P);
    for (const entry *e = l->classes + l->class_at[at], *last = l->classes + l->class_at[at + 1]; e < last; e++)
        logs[e->c] = log(P[e->c]);
    add_logs(b->p, d, K, logs, H, S, b->values + b->made * K);
    places[x] = (int32_t)b->made++;
}

/* Fills the tables of a context and of all that extend it. The combinations of codes from..to of the parents are in the context. */
static void build(builder *b, int64_t d, int64_t at, int64_t from, int64_t to) {
    const part *p = b->p;
    const structure *g = b->g;
    const family *f = &p->counts;
    const level *l = f->levels + d;
    const int64_t K = b->K, X = b->X, here = p->first[d] + at;
    double *H = b->factors + here * K;
    int32_t *places = b->places + here * X;
    for (int64_t i = from; b->longest && i < to; i++) b->longest[i] = (int32_t)here;
    if (!p->whole) add_factors(g, p, d, at, H);
    for (int64_t x = 0; p->whole && x < X; x++)
        if (f->margin[x] >= 1e-9) add_value(b, d, at, (uint32_t)x, first_cell(l, at, (uint32_t)x), H, places);
    for (int64_t i = l->cell_at[at]; !p->whole && i < l->cell_at[at + 1]; i++) {
        const uint32_t x = l->cells[i].x;
        if ((i == l->cell_at[at] || l->cells[i - 1].x != x) && f->margin[x] >= 1e-9) add_value(b, d, at, x, l->cells + i, H, places);
    }
    if (d == f->parents) return;
    for (int64_t below = l->children[at]; below < l->children[at + 1]; below++) {
        if (l[1].totals[below] < g->least) continue;
        const int64_t number = p->first[d + 1] + below, size = (to - from) / p->cards[d], start = from + l[1].codes[below] * size;
        b->next[p->starts[d] + here * p->cards[d] + l[1].codes[below]] = (int32_t)number;
        memcpy(b->places + number * X, places, X * sizeof *places);
        memcpy(b->factors + number * K, H, K * sizeof *H);
        build(b, d + 1, below, start, start + size);
    }
}

/* The tables of a family: whether there are any, whether `longest` and `places` are among them, and how many numbers they have. */
typedef struct {
    int64_t wanted, longest, places, contexts, pairs, combinations, integers, numbers;
} plan;

enum { SMALL = 1 << 12, SPARSE = 4, DENSE = 2, FEW = 256, COMBINATIONS = 8 };

/* Writes which tables the families of a structure have. There are none where the positions of all values in all contexts (or, where P
   may be too small, their sums) would take SPARSE times the memory of the counts and more than SMALL bytes. All pairs of a context and a
   value are tabulated if they are at most DENSE times the numbers for those that occur, and the longest contexts of all combinations of
   codes if these are at most FEW, or COMBINATIONS times the contexts. sizes[f] are the numbers of contexts, class entries and cells at
   each depth. */
API void naivete_plan_tables(const structure *g, const int64_t *const *sizes, int64_t K, plan *plans) {
    for (int64_t f = 0; f < g->count; f++) {
        const part *p = g->parts + f;
        const int64_t parents = p->counts.parents, X = p->cards[parents];
        int64_t contexts = 0, steps = 0, combinations = 1, pairs = 0, bytes = 0;
        for (int64_t d = 0; d <= parents; d++) {
            const level *l = p->counts.levels + d;
            const int64_t *size = sizes[f] + 3 * d;
            for (int64_t at = 0; at < size[0]; at++)
                for (int64_t i = l->cell_at[at]; i < l->cell_at[at + 1]; i++)
                    pairs += i == l->cell_at[at] || l->cells[i].x != l->cells[i - 1].x;
            contexts += size[0];
            bytes += size[0] * sizeof(double) + (size[1] + size[2]) * sizeof(entry);
            if (d == parents) break;
            steps += size[0] * p->cards[d];
            combinations = combinations > INT32_MAX / p->cards[d] ? INT32_MAX : combinations * p->cards[d];
        }
        if (p->whole) pairs = contexts * X;
        const int64_t all = contexts * X * (p->whole ? K * (int64_t)sizeof(double) : (int64_t)sizeof(int32_t));
        const int64_t wanted = all <= SMALL || all <= SPARSE * bytes;
        const int64_t longest = combinations <= FEW || combinations <= COMBINATIONS * contexts;
        const int64_t places = contexts * X > DENSE * (pairs + contexts);
        const int64_t integers = steps + 1 + longest * combinations + contexts * X * places;
        plans[f] = (plan){wanted, longest, places, contexts, pairs, combinations, wanted * integers,
                          wanted * K * (places ? pairs + contexts : contexts * X)};
    }
}

/* Writes the sums of all pairs of a context and a value, 0 where a value never occurred. */
static void all_sums(int64_t contexts, int64_t X, int64_t K, const int32_t *places, const double *values, const double *factors,
                     double *sums) {
    for (int64_t at = 0; at < contexts; at++)
        for (int64_t x = 0; x < X; x++, sums += K)
            for (int64_t c = 0; c < K; c++)
                sums[c] = places[at * X + x] < 0 ? 0.0 : values[(int64_t)places[at * X + x] * K + c] + factors[at * K + c];
}

/* Makes the tables of one family in `integers` and `numbers`; `first` has room for two numbers for each depth and two more. Returns 0
   if there is not enough memory. */
static int make_tables(const structure *g, part *p, const plan *q, const int64_t *sizes, int64_t K, int32_t *integers, double *numbers,
                       int64_t *first) {
    const int64_t parents = p->counts.parents, X = p->cards[parents];
    int64_t *starts = first + parents + 2, step = 0;
    first[0] = 0;
    for (int64_t d = 0; d <= parents; d++) {
        first[d + 1] = first[d] + sizes[3 * d];
        starts[d] = d < parents ? step - first[d] * p->cards[d] : 0;
        step += d < parents ? sizes[3 * d] * p->cards[d] : 0;
    }
    const int64_t spare = q->places ? 0 : (q->pairs + q->contexts) * K;
    double *space = malloc(((parents + 1) * X * 3 * K + spare + 1) * sizeof *space);
    int32_t *places = q->places ? integers + q->integers - q->contexts * X : malloc(q->contexts * X * sizeof *places);
    const int ok = space && places;
    if (ok) {
        double *values = q->places ? numbers : space + (parents + 1) * X * 3 * K, *factors = values + q->pairs * K;
        memset(integers, 0xFF, (step + 1) * sizeof *integers); /* -1 */
        memset(places, 0xFF, q->contexts * X * sizeof *places);
        memset(factors, 0, q->contexts * K * sizeof *factors);
        p->first = first;
        p->starts = starts;
        p->next = integers;
        p->longest = q->longest ? integers + step + 1 : NULL;
        builder b = {p, g, K, X, 0, space, space + (parents + 1) * X * K, space + 2 * (parents + 1) * X * K,
                     integers, q->longest ? integers + step + 1 : NULL, places, values, factors};
        build(&b, 0, 0, 0, q->combinations);
        if (!q->places) all_sums(q->contexts, X, K, places, values, factors, numbers);
        p->places = q->places ? places : NULL;
        p->factors = q->places ? factors : NULL;
        p->values = numbers;
    }
    free(space);
    if (!q->places) free(places);
    return ok;
}

/* Makes the planned tables of the families from..to of a structure; those of family f begin at starts[3 f], starts[3 f + 1], ... of the
   three arrays. Returns 0 if there is not enough memory. */
API int naivete_make_tables(const structure *g, part *parts, const plan *plans, const int64_t *const *sizes, int64_t K,
                            const int64_t *starts, int32_t *integers, double *numbers, int64_t *firsts, int64_t from, int64_t to) {
    int ok = 1;
    for (int64_t f = from; ok && f < to; f++) {
        const int64_t *at = starts + 3 * f;
        if (plans[f].wanted) ok = make_tables(g, parts + f, plans + f, sizes[f], K, integers + at[0], numbers + at[1], firsts + at[2]);
    }
    return ok;
}

/* Writes the steps of a tree; leaves lead to themselves. */
static void write_steps(const int64_t *nodes, int64_t n, int64_t tree_width, step *steps) {
    for (int64_t at = 0; at < n; at++) {
        const int64_t col = nodes[3 * at], test = nodes[3 * at + 1], child = nodes[3 * at + 2];
        if (col < 0) steps[at] = (step){(uint16_t)tree_width, 0, EVERY, (uint16_t)at};
        else if (test == -1) steps[at] = (step){(uint16_t)col, 0, EVERY, (uint16_t)child};
        else if (test < 0) steps[at] = (step){(uint16_t)col, (uint16_t)(-2 - test), 0, (uint16_t)child};
        else steps[at] = (step){(uint16_t)col, 0, (uint16_t)test, (uint16_t)child};
    }
}

/* Writes the steps and the depths of boosted trees. Returns 0 if there is not enough memory. */
API int naivete_boosted_steps(const int64_t *nodes, const int64_t *starts, int64_t trees, int64_t tree_width, step *steps,
                              int64_t *depths) {
    int64_t *level = malloc((starts[trees] + 1) * sizeof *level);
    for (int64_t t = 0; level && t < trees; t++) {
        const int64_t *tree = nodes + 3 * starts[t], n = starts[t + 1] - starts[t];
        write_steps(tree, n, tree_width, steps + starts[t]);
        level[0] = depths[t] = 0;
        for (int64_t at = 0; at < n; at++) { /* every child comes after its parent */
            if (level[at] > depths[t]) depths[t] = level[at];
            for (int64_t b = 0; tree[3 * at] >= 0 && b < 2; b++) level[tree[3 * at + 2] + b] = level[at] + 1;
        }
    }
    const int ok = level != NULL;
    free(level);
    return ok;
}

/* Writes the steps of the trees from..to of a forest, and the sums and P of rows that end at each node; those of nodes at which none
   can end are not used. starts[t] is the first node of tree t. Returns 0 if there is not enough memory. */
API int naivete_forest_tables(const model *m, const forest *f, tree *trees, const int64_t *starts, step *steps, double *ends,
                              int64_t from, int64_t to) {
    const int64_t K = m->K, E = f->sets * K, size = E + K;
    for (int64_t t = from; t < to; t++) {
        const int64_t *nodes = trees[t].nodes, n = starts[t + 1] - starts[t];
        double *here = ends + starts[t] * size;
        int32_t *depth = malloc(2 * n * sizeof *depth), *done = depth + n;
        if (!depth) return 0;
        write_steps(nodes, n, m->tree_width, steps + starts[t]);
        memset(here, 0, E * sizeof *here);
        for (int64_t c = 0; c < K; c++) here[E + c] = 1.0 / K;
        depth[0] = done[0] = 0;
        for (int64_t at = 0; at < n; at++) { /* every child comes after its parent; until here the numbers are those of the parent */
            double *S = here + at * size, *P = S + E;
            const int64_t col = nodes[3 * at], child = nodes[3 * at + 2];
            const int64_t branches = col < 0 ? 0 : nodes[3 * at + 1] == -1 ? m->states[m->tree_columns[col]] + 1 : 2;
            node_posterior(trees[t].counts + at * K, K, f->m, P);
            for (int64_t b = 0; b < branches; b++) {
                double *below = here + (child + b) * size;
                memcpy(below, b ? below - size : S, size * sizeof *S);
                depth[child + b] = depth[at] + 1;
                done[child + b] = b ? done[child] : (int32_t)add_node(f, m->wanted, m->depths, depth[at], done[at], 0, K, P, below);
            }
            if (col < 0 || m->tree_missing[col] == ENDS) add_node(f, m->wanted, m->depths, depth[at], done[at], 1, K, P, S);
            for (int64_t c = 0; c < K; c++) P[c] = f->share * P[c];
        }
        free(depth);
        trees[t].steps = steps + starts[t];
        trees[t].ends = here;
    }
    return 1;
}
