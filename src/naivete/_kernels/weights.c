/* Log-linear models of the class: weighted terms, linear scores of rows, and the search for their weights.

   The numpy version of every function is in weights.py and linear.py. */

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "columns.h"

/* The loss of a weighted combination of features and its gradient, for the rows from..to: logits are the features (row, class,
   feature) times w plus b; `gradient` has room for the features and the classes and is added to. Returns the sum of
   -weight * log P(label). */
API double naivete_weighted_loss(const double *features, const uint32_t *labels, const double *weight, int64_t K, int64_t p,
                         const double *w, const double *b, int64_t from, int64_t to, double *gradient) {
    double loss = 0, *z = malloc(K * sizeof *z);
    if (!z) return NAN;
    for (int64_t r = from; r < to; r++) {
        const double *f = features + r * K * p;
        double top = -INFINITY, sum = 0;
        for (int64_t c = 0; c < K; c++) {
            double s = b[c];
            const double *g = f + c * p;
            double s0 = 0, s1 = 0, s2 = 0, s3 = 0;
            int64_t j = 0;
            for (; j + 4 <= p; j += 4) s0 += g[j] * w[j], s1 += g[j + 1] * w[j + 1], s2 += g[j + 2] * w[j + 2], s3 += g[j + 3] * w[j + 3];
            for (; j < p; j++) s0 += g[j] * w[j];
            z[c] = s + ((s0 + s1) + (s2 + s3));
            if (z[c] > top) top = z[c];
        }
        for (int64_t c = 0; c < K; c++) sum += exp(z[c] - top);
        const uint32_t y = labels[r];
        loss += weight[r] * (top + log(sum) - z[y]);
        for (int64_t c = 0; c < K; c++) {
            const double q = weight[r] * (exp(z[c] - top) / sum - (c == (int64_t)y));
            const double *g = f + c * p;
            gradient[p + c] += q;
            for (int64_t j = 0; j < p; j++) gradient[j] += q * g[j];
        }
    }
    free(z);
    return loss;
}

/* A loss without penalty: it adds its gradient at `values` to `gradient`. */
typedef double (*loss_function)(const void *data, const double *values, double *gradient);

/* A loss with the penalty 1/2 sum strength (values - origin)^2 of its n variables, searched in the variables values * scale. */
typedef struct {
    loss_function loss;
    const void *data;
    int64_t n;
    const double *scale, *strength, *origin;
} objective;

static double penalized(const objective *o, const double *point, double *values, double *gradient) {
    for (int64_t j = 0; j < o->n; j++) {
        values[j] = point[j] / o->scale[j];
        gradient[j] = 0;
    }
    double loss = o->loss(o->data, values, gradient);
    for (int64_t j = 0; j < o->n; j++) {
        const double d = values[j] - o->origin[j];
        loss += 0.5 * o->strength[j] * d * d;
        gradient[j] = (gradient[j] + o->strength[j] * d) / o->scale[j];
    }
    return loss;
}

static double dot(const double *a, const double *b, int64_t n) {
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

/* Minimizes the penalized loss by L-BFGS as `minimized` of weights.py does; `values` has the first point and gets the last one.
   Returns 0 if there is not enough memory. */
static int minimize(const objective *o, int64_t steps, double tolerance, double *values) {
    enum { KEEP = 10 };
    const int64_t n = o->n;
    double *space = malloc((2 * KEEP + 6) * n * sizeof *space), share[KEEP], product[KEEP];
    if (!space) return 0;
    double *point = space, *gradient = point + n, *direction = gradient + n, *trial = direction + n, *slope_at = trial + n;
    double *moved = slope_at + 2 * n, *turned = moved + KEEP * n;
    int64_t kept = 0, next = 0;
    for (int64_t j = 0; j < n; j++) point[j] = values[j] * o->scale[j];
    double value = penalized(o, point, values, gradient);
    for (int64_t step = 0; step < steps; step++) {
        memcpy(direction, gradient, n * sizeof *direction);
        for (int64_t i = 0; i < kept; i++) {
            const int64_t at = (next - 1 - i + 2 * KEEP) % KEEP;
            share[at] = dot(moved + at * n, direction, n) / product[at];
            for (int64_t j = 0; j < n; j++) direction[j] -= share[at] * turned[at * n + j];
        }
        if (kept) {
            const int64_t at = (next - 1 + KEEP) % KEEP;
            const double factor = product[at] / dot(turned + at * n, turned + at * n, n);
            for (int64_t j = 0; j < n; j++) direction[j] *= factor;
        }
        for (int64_t i = kept - 1; i >= 0; i--) {
            const int64_t at = (next - 1 - i + 2 * KEEP) % KEEP;
            const double change = share[at] - dot(turned + at * n, direction, n) / product[at];
            for (int64_t j = 0; j < n; j++) direction[j] += change * moved[at * n + j];
        }
        for (int64_t j = 0; j < n; j++) direction[j] = -direction[j];
        const double slope = dot(gradient, direction, n);
        if (slope > -tolerance * (fabs(value) > 1 ? fabs(value) : 1)) break;
        double length = kept ? 1.0 : 1.0 / sqrt(dot(gradient, gradient, n));
        if (length > 1) length = 1;
        double reached = 0;
        int found = 0;
        for (int halving = 0; halving < 40; halving++, length /= 2) {
            for (int64_t j = 0; j < n; j++) trial[j] = point[j] + length * direction[j];
            reached = penalized(o, trial, values, slope_at);
            if (reached <= value + 1e-4 * length * slope) {
                found = 1;
                break;
            }
        }
        if (!found) break;
        double *m = moved + next * n, *t = turned + next * n;
        for (int64_t j = 0; j < n; j++) {
            m[j] = trial[j] - point[j];
            t[j] = slope_at[j] - gradient[j];
        }
        product[next] = dot(m, t, n);
        if (product[next] > 1e-12 * dot(t, t, n)) {
            next = (next + 1) % KEEP;
            if (kept < KEEP) kept++;
        }
        memcpy(point, trial, n * sizeof *point);
        memcpy(gradient, slope_at, n * sizeof *gradient);
        value = reached;
    }
    for (int64_t j = 0; j < n; j++) values[j] = point[j] / o->scale[j];
    free(space);
    return 1;
}

typedef struct {
    const double *terms;
    const uint32_t *labels;
    const double *weight;
    int64_t K, p, rows;
} weighted_terms;

static double loss_of_terms(const void *data, const double *values, double *gradient) {
    const weighted_terms *t = data;
    double loss = 0;
    for (int64_t lo = 0; lo < t->rows; lo += 512) {
        const int64_t hi = lo + 512 < t->rows ? lo + 512 : t->rows;
        loss += naivete_weighted_loss(t->terms, t->labels, t->weight, t->K, t->p, values, values + t->p, lo, hi, gradient);
    }
    return loss;
}

/* Writes the coefficients of the terms and the intercepts of the classes that minimize the penalized loss. Returns 0 if there is
   not enough memory. */
API int naivete_fit_weights(const double *terms, const uint32_t *labels, const double *weight, int64_t K, int64_t p, int64_t rows,
                            const double *scale, const double *strength, const double *origin, int64_t steps, double tolerance,
                            double *values) {
    const weighted_terms data = {terms, labels, weight, K, p, rows};
    const objective o = {loss_of_terms, &data, p + K, scale, strength, origin};
    memcpy(values, origin, (p + K) * sizeof *values);
    return minimize(&o, steps, tolerance, values);
}

/* Rows of a matrix of p columns: each is `base` plus the entries start[r] .. start[r + 1]. */
typedef struct {
    const int64_t *start;
    const uint32_t *column;
    const double *value, *base;
    const uint32_t *labels;
    const double *weight;
    int64_t K, p, rows;
    double *room; /* of 3 K numbers */
} linear_rows;

/* values: (column, class), then the intercepts. With a single class there is a second one, the label UINT32_MAX, whose scores
   are 0. */
static double loss_of_rows(const void *data, const double *values, double *gradient) {
    const linear_rows *t = data;
    const int64_t K = t->K, p = t->p;
    double loss = 0, *offset = t->room, *z = offset + K, *total = z + K;
    for (int64_t c = 0; c < K; c++) {
        offset[c] = values[p * K + c];
        total[c] = 0;
    }
    for (int64_t j = 0; j < p; j++)
        if (t->base[j] != 0)
            for (int64_t c = 0; c < K; c++) offset[c] += t->base[j] * values[j * K + c];
    for (int64_t r = 0; r < t->rows; r++) {
        if (t->weight[r] == 0) continue;
        for (int64_t c = 0; c < K; c++) z[c] = offset[c];
        for (int64_t e = t->start[r]; e < t->start[r + 1]; e++) {
            const double x = t->value[e], *v = values + t->column[e] * K;
            for (int64_t c = 0; c < K; c++) z[c] += x * v[c];
        }
        const uint32_t y = t->labels[r];
        double top = K == 1 ? 0 : -INFINITY;
        for (int64_t c = 0; c < K; c++)
            if (z[c] > top) top = z[c];
        double sum = K == 1 ? exp(-top) : 0;
        loss += t->weight[r] * (top - (y == UINT32_MAX ? 0 : z[y]));
        for (int64_t c = 0; c < K; c++) sum += z[c] = exp(z[c] - top);
        loss += t->weight[r] * log(sum);
        for (int64_t c = 0; c < K; c++) {
            z[c] = t->weight[r] * (z[c] / sum - (c == (int64_t)y));
            total[c] += z[c];
        }
        for (int64_t e = t->start[r]; e < t->start[r + 1]; e++) {
            const double x = t->value[e];
            double *g = gradient + t->column[e] * K;
            for (int64_t c = 0; c < K; c++) g[c] += x * z[c];
        }
    }
    for (int64_t j = 0; j < p; j++)
        if (t->base[j] != 0)
            for (int64_t c = 0; c < K; c++) gradient[j * K + c] += t->base[j] * total[c];
    for (int64_t c = 0; c < K; c++) gradient[p * K + c] += total[c];
    return loss;
}

/* Improves `values`, the weights (column, class) and the intercepts, until the penalized loss of the rows is smallest. Returns 0
   if there is not enough memory. */
API int naivete_fit_linear(const int64_t *start, const uint32_t *column, const double *value, const double *base,
                           const uint32_t *labels, const double *weight, int64_t K, int64_t p, int64_t rows, const double *scale,
                           const double *strength, const double *origin, int64_t steps, double tolerance, double *values) {
    double *room = malloc(3 * K * sizeof *room);
    if (!room) return 0;
    const linear_rows data = {start, column, value, base, labels, weight, K, p, rows, room};
    const objective o = {loss_of_rows, &data, (p + 1) * K, scale, strength, origin};
    const int status = minimize(&o, steps, tolerance, values);
    free(room);
    return status;
}

/* The loss of the log-probabilities logs[r * row + c * step], multiplied by a factor, its slope and its curvature. `z` has room for
   K numbers. */
static double loss_at(const double *logs, int64_t row, int64_t step, const uint32_t *labels, const double *weight, int64_t K,
                      int64_t rows, double factor, double *z, double *slope, double *curvature) {
    double loss = 0;
    *slope = *curvature = 0;
    for (int64_t r = 0; r < rows; r++) {
        const double *f = logs + r * row;
        double top = -INFINITY, sum = 0, mean = 0, spread = 0;
        for (int64_t c = 0; c < K; c++)
            if (factor * f[c * step] > top) top = factor * f[c * step];
        for (int64_t c = 0; c < K; c++) sum += z[c] = exp(factor * f[c * step] - top);
        for (int64_t c = 0; c < K; c++) mean += z[c] / sum * f[c * step];
        for (int64_t c = 0; c < K; c++) spread += z[c] / sum * (f[c * step] - mean) * (f[c * step] - mean);
        const double own = f[labels[r] * step];
        loss += weight[r] * (log(sum) + top - factor * own);
        *slope += weight[r] * (mean - own);
        *curvature += weight[r] * spread;
    }
    return loss;
}

/* Finds the factor from low to high that minimizes the loss plus 1/2 strength (factor - 1)^2 as `temperature` of weights.py does.
   Returns the minimum, and NaN if there is not enough memory. */
API double naivete_temperature(const double *logs, int64_t row, int64_t step, const uint32_t *labels, const double *weight, int64_t K,
                               int64_t rows, double strength, double low, double high, double *factor) {
    double slope, curvature, *z = malloc(K * sizeof *z);
    if (!z) return NAN;
    double at = 1;
    for (int i = 0; i < 40; i++) {
        loss_at(logs, row, step, labels, weight, K, rows, at, z, &slope, &curvature);
        slope += strength * (at - 1);
        curvature += strength;
        if (slope > 0) high = at;
        else low = at;
        const double newton = curvature > 0 ? at - slope / curvature : low;
        const double next = low < newton && newton < high ? newton : (low + high) / 2;
        if (fabs(next - at) < 1e-9 * at) break;
        at = next;
    }
    *factor = at;
    const double loss = loss_at(logs, row, step, labels, weight, K, rows, at, z, &slope, &curvature);
    free(z);
    return loss + 0.5 * strength * (at - 1) * (at - 1);
}
