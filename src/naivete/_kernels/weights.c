/* Log-linear models of the class: weighted terms, linear scores of rows, and the search for their weights.

   The numpy version of every function is in weights.py and linear.py. */

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "elementary.h"

enum { BLOCK = 64 }; /* rows whose exponentials are computed together */
enum { FEW = 8 };    /* classes whose scores fit registers */
#define SECOND UINT32_MAX

/* Replaces numbers by their exponentials. */
INLINE int exponentials_body(double *x, int64_t n) {
    for (int64_t i = 0; i < n; i++) x[i] = exp_of(x[i]);
    return 1;
}
BY_INSTRUCTION_SET(int, exponentials, (double *x, int64_t n), (x, n))
API void naivete_exponentials(double *x, int64_t n) { exponentials(x, n); }

/* Replaces numbers by their logarithms. */
INLINE int logarithms_body(double *x, int64_t n) {
    for (int64_t i = 0; i < n; i++) x[i] = log_of(x[i]);
    return 1;
}
BY_INSTRUCTION_SET(int, logarithms, (double *x, int64_t n), (x, n))
API void naivete_logarithms(double *x, int64_t n) { logarithms(x, n); }

/* Replaces the scores z of `len` rows (row, class) by weight * (P(class) - 1 at the label). With a single class there is a second
   one, the label SECOND, whose scores are 0. `room` has room for 2 BLOCK numbers. Returns the sum of -weight * log P(label). */
INLINE double errors_body(double *z, const uint32_t *labels, const double *weight, int64_t K, int64_t len, double *room) {
    double loss = 0, *sums = room, *logs = room + BLOCK;
    if (K == 1) {
        for (int64_t i = 0; i < len; i++) sums[i] = exp_of(-fabs(z[i]));
        for (int64_t i = 0; i < len; i++) logs[i] = log_of(1.0 + sums[i]);
        for (int64_t i = 0; i < len; i++) {
            const int first = labels[i] != SECOND;
            loss += weight[i] * (logs[i] + (z[i] > 0 ? z[i] : 0.0) - (first ? z[i] : 0.0));
            z[i] = weight[i] * ((z[i] > 0 ? 1.0 : sums[i]) / (1.0 + sums[i]) - first);
        }
        return loss;
    }
    for (int64_t i = 0; i < len; i++) {
        double *row = z + i * K, top = -INFINITY;
        for (int64_t c = 0; c < K; c++) top = row[c] > top ? row[c] : top;
        for (int64_t c = 0; c < K; c++) row[c] -= top;
        loss -= weight[i] * row[labels[i]];
    }
    for (int64_t i = 0; i < len * K; i++) z[i] = exp_of(z[i]);
    for (int64_t i = 0; i < len; i++) {
        sums[i] = 0;
        for (int64_t c = 0; c < K; c++) sums[i] += z[i * K + c];
    }
    for (int64_t i = 0; i < len; i++) logs[i] = log_of(sums[i]);
    for (int64_t i = 0; i < len; i++) {
        const double share = weight[i] / sums[i];
        loss += weight[i] * logs[i];
        for (int64_t c = 0; c < K; c++) z[i * K + c] *= share;
        z[i * K + labels[i]] -= weight[i];
    }
    return loss;
}
BY_INSTRUCTION_SET(double, errors, (double *z, const uint32_t *labels, const double *weight, int64_t K, int64_t len, double *room),
                   (z, labels, weight, K, len, room))

/* The sum of products, added up in eight parts so that vector instructions can be used. */
INLINE double product(const double *a, const double *b, int64_t n) {
    double part[8] = {0};
    int64_t j = 0;
    for (; j + 8 <= n; j += 8)
        for (int64_t k = 0; k < 8; k++) part[k] += a[j + k] * b[j + k];
    for (; j < n; j++) part[j % 8] += a[j] * b[j];
    return ((part[0] + part[4]) + (part[2] + part[6])) + ((part[1] + part[5]) + (part[3] + part[7]));
}

/* A loss without penalty: it adds its gradient at `values` to `gradient`. */
typedef double (*loss_function)(const void *data, const double *values, double *gradient);

/* A loss with the penalty 1/2 sum strength (values - origin)^2 of its n variables. Variable j * blocks + b is number j of block b.
   `factor` has a lower triangular matrix L (blocks, size, size) for each block, where L L' is about the second derivative; the
   search is for the point L' values, in which the objective is about a sphere. */
typedef struct {
    loss_function loss;
    const void *data;
    int64_t blocks, size;
    const double *strength, *origin, *factor;
} objective;

/* Solves L y = x for each block. */
INLINE void forward(const objective *o, double *x, double *room) {
    for (int64_t b = 0; b < o->blocks; b++)
        for (int64_t i = 0; i < o->size; i++) {
            const double *row = o->factor + (b * o->size + i) * o->size;
            room[i] = (x[i * o->blocks + b] - product(row, room, i)) / row[i];
            x[i * o->blocks + b] = room[i];
        }
}

/* Solves L' y = x for each block. */
INLINE void backward(const objective *o, double *x, double *room) {
    for (int64_t b = 0; b < o->blocks; b++) {
        for (int64_t i = 0; i < o->size; i++) room[i] = x[i * o->blocks + b];
        for (int64_t i = o->size - 1; i >= 0; i--) {
            const double *row = o->factor + (b * o->size + i) * o->size, y = room[i] / row[i];
            for (int64_t j = 0; j < i; j++) room[j] -= y * row[j];
            x[i * o->blocks + b] = y;
        }
    }
}

INLINE double penalized(const objective *o, const double *point, double *values, double *gradient, double *room) {
    const int64_t n = o->blocks * o->size;
    memcpy(values, point, n * sizeof *values);
    backward(o, values, room);
    memset(gradient, 0, n * sizeof *gradient);
    double loss = o->loss(o->data, values, gradient);
    for (int64_t j = 0; j < n; j++) {
        const double d = values[j] - o->origin[j];
        loss += 0.5 * o->strength[j] * d * d;
        gradient[j] += o->strength[j] * d;
    }
    forward(o, gradient, room);
    return loss;
}

/* Minimizes the penalized loss by L-BFGS as `minimized` of weights.py does; `values` has the first point and gets the last one.
   Returns 0 if there is not enough memory. */
INLINE int minimize_body(const objective *o, int64_t steps, double tolerance, double *values) {
    enum { KEEP = 10 };
    const int64_t n = o->blocks * o->size;
    double *space = malloc(((2 * KEEP + 5) * n + o->size) * sizeof *space), share[KEEP], products[KEEP];
    if (!space) return 0;
    double *point = space, *gradient = point + n, *direction = gradient + n, *trial = direction + n, *slope_at = trial + n;
    double *moved = slope_at + n, *turned = moved + KEEP * n, *room = turned + KEEP * n;
    int64_t kept = 0, next = 0;
    for (int64_t b = 0; b < o->blocks; b++) /* L' values */
        for (int64_t i = 0; i < o->size; i++) {
            double sum = 0;
            for (int64_t j = i; j < o->size; j++) sum += o->factor[(b * o->size + j) * o->size + i] * values[j * o->blocks + b];
            point[i * o->blocks + b] = sum;
        }
    double value = penalized(o, point, values, gradient, room);
    for (int64_t step = 0; step < steps; step++) {
        memcpy(direction, gradient, n * sizeof *direction);
        for (int64_t i = 0; i < kept; i++) {
            const int64_t at = (next - 1 - i + 2 * KEEP) % KEEP;
            share[at] = product(moved + at * n, direction, n) / products[at];
            for (int64_t j = 0; j < n; j++) direction[j] -= share[at] * turned[at * n + j];
        }
        for (int64_t i = kept - 1; i >= 0; i--) {
            const int64_t at = (next - 1 - i + 2 * KEEP) % KEEP;
            const double change = share[at] - product(turned + at * n, direction, n) / products[at];
            for (int64_t j = 0; j < n; j++) direction[j] += change * moved[at * n + j];
        }
        for (int64_t j = 0; j < n; j++) direction[j] = -direction[j];
        const double slope = product(gradient, direction, n);
        if (slope > -tolerance * (fabs(value) > 1 ? fabs(value) : 1)) break;
        double length = 1, reached = 0;
        int found = 0;
        for (int halving = 0; halving < 40; halving++, length /= 2) {
            for (int64_t j = 0; j < n; j++) trial[j] = point[j] + length * direction[j];
            reached = penalized(o, trial, values, slope_at, room);
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
        products[next] = product(m, t, n);
        if (products[next] > 1e-12 * product(t, t, n)) {
            next = (next + 1) % KEEP;
            if (kept < KEEP) kept++;
        }
        memcpy(point, trial, n * sizeof *point);
        memcpy(gradient, slope_at, n * sizeof *gradient);
        value = reached;
    }
    memcpy(values, point, n * sizeof *values);
    backward(o, values, room);
    free(space);
    return 1;
}
BY_INSTRUCTION_SET(int, minimize, (const objective *o, int64_t steps, double tolerance, double *values), (o, steps, tolerance, values))

/* Replaces the lower triangle of a symmetric positive definite matrix by its Cholesky factor. */
INLINE int factorize_body(double *matrix, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        double *row = matrix + i * n;
        for (int64_t j = 0; j < i; j++) row[j] = (row[j] - product(row, matrix + j * n, j)) / matrix[j * n + j];
        const double rest = row[i] - product(row, row, i);
        row[i] = sqrt(rest > 1e-12 * row[i] ? rest : 1e-12 * row[i]);
    }
    return 1;
}
BY_INSTRUCTION_SET(int, factorize, (double *matrix, int64_t n), (matrix, n))

/* The terms of rows (row, class, term) and the rows of a positive weight, `used`. */
typedef struct {
    const double *terms;
    const uint32_t *labels;
    const double *weight;
    int64_t K, p, rows;
    const int64_t *used;
    double *room; /* of BLOCK (K + 3) numbers */
    uint32_t *block_labels; /* of BLOCK */
} weighted_terms;

/* values: the coefficients of the terms, then the intercepts of the classes. */
INLINE double loss_of_terms_body(const void *data, const double *values, double *gradient) {
    const weighted_terms *t = data;
    const int64_t K = t->K, p = t->p;
    double loss = 0, *z = t->room, *weight = z + BLOCK * K;
    for (int64_t lo = 0; lo < t->rows; lo += BLOCK) {
        const int64_t len = lo + BLOCK < t->rows ? BLOCK : t->rows - lo;
        for (int64_t i = 0; i < len; i++) {
            const int64_t r = t->used[lo + i];
            for (int64_t c = 0; c < K; c++) z[i * K + c] = values[p + c] + product(t->terms + (r * K + c) * p, values, p);
            weight[i] = t->weight[r];
            t->block_labels[i] = t->labels[r];
        }
        loss += errors(z, t->block_labels, weight, K, len, weight + BLOCK);
        for (int64_t i = 0; i < len; i++)
            for (int64_t c = 0; c < K; c++) {
                const double q = z[i * K + c], *f = t->terms + (t->used[lo + i] * K + c) * p;
                gradient[p + c] += q;
                for (int64_t j = 0; j < p; j++) gradient[j] += q * f[j];
            }
    }
    return loss;
}
BY_INSTRUCTION_SET(double, loss_of_terms, (const void *data, const double *values, double *gradient), (data, values, gradient))

/* Adds the second derivative of the loss at `values`, estimated from at most `most` of the rows, to the lower triangle of a matrix;
   `one` has room for 2 (p + K) numbers. */
INLINE int add_curvature_body(const weighted_terms *t, const double *values, int64_t most, double *one, double *matrix) {
    const int64_t K = t->K, p = t->p, n = p + K, step = t->rows / most + 1;
    double all = 0, some = 0, *z = t->room;
    for (int64_t i = 0; i < t->rows; i++) all += t->weight[t->used[i]];
    for (int64_t i = 0; i < t->rows; i += step) some += t->weight[t->used[i]];
    for (int64_t i = 0; i < t->rows; i += step) {
        const int64_t r = t->used[i];
        const double scale = t->weight[r] * (all / some);
        const uint32_t label = K == 1 ? SECOND : 0;
        const double unit = 1.0;
        for (int64_t c = 0; c < K; c++) z[c] = values[p + c] + product(t->terms + (r * K + c) * p, values, p);
        errors(z, &label, &unit, K, 1, z + K);
        if (K > 1) z[0] += 1.0; /* the probabilities */
        for (int64_t j = 0; j < n; j++) one[j] = 0; /* the mean of the terms and intercepts over the classes */
        for (int64_t c = 0; c < K; c++) {
            for (int64_t j = 0; j < p; j++) one[j] += z[c] * t->terms[(r * K + c) * p + j];
            one[p + c] = z[c];
        }
        for (int64_t c = 0; c < K + (K == 1); c++) {
            const double q = scale * (c < K ? z[c] : 1 - z[0]);
            double *x = one + n;
            for (int64_t j = 0; j < n; j++) x[j] = -one[j];
            if (c < K) {
                for (int64_t j = 0; j < p; j++) x[j] += t->terms[(r * K + c) * p + j];
                x[p + c] += 1;
            }
            for (int64_t j = 0; j < n; j++) {
                const double y = q * x[j];
                double *row = matrix + j * n;
                for (int64_t k = 0; k <= j; k++) row[k] += y * x[k];
            }
        }
    }
    return 1;
}
BY_INSTRUCTION_SET(int, add_curvature, (const weighted_terms *t, const double *values, int64_t most, double *one, double *matrix),
                   (t, values, most, one, matrix))

/* Writes the coefficients of the terms and the intercepts of the classes that minimize the penalized loss; rows of weight 0 are not
   used. With a single class there is a second one, the label SECOND, whose scores are 0. Returns 0 if there is not enough memory. */
API int naivete_fit_weights(const double *terms, const uint32_t *labels, const double *weight, int64_t K, int64_t p, int64_t rows,
                            const double *strength, const double *origin, int64_t most, int64_t steps, double tolerance,
                            double *values) {
    const int64_t n = p + K;
    int64_t *used = malloc((rows + 1) * sizeof *used), many = 0;
    uint32_t *block_labels = malloc(BLOCK * sizeof *block_labels);
    double *space = malloc((n * n + 2 * n + BLOCK * (K + 3)) * sizeof *space);
    int status = used && block_labels && space;
    if (status) {
        for (int64_t r = 0; r < rows; r++) {
            used[many] = r;
            many += weight[r] > 0;
        }
        double *factor = space, *one = factor + n * n;
        const weighted_terms data = {terms, labels, weight, K, p, many, used, one + 2 * n, block_labels};
        const objective o = {loss_of_terms, &data, 1, n, strength, origin, factor};
        memset(factor, 0, n * n * sizeof *factor);
        for (int64_t j = 0; j < n; j++) factor[j * n + j] = strength[j];
        add_curvature(&data, origin, most, one, factor);
        factorize(factor, n);
        memcpy(values, origin, n * sizeof *values);
        status = minimize(&o, steps, tolerance, values);
    }
    free(used);
    free(block_labels);
    free(space);
    return status;
}

/* Rows of a matrix of p columns: each is `base` plus the entries start[r] .. start[r + 1]. */
typedef struct {
    const int64_t *start;
    const uint32_t *column;
    const double *value, *base;
    const uint32_t *labels;
    const double *weight;
    int64_t K, p, rows;
    double *room;           /* of BLOCK (K + 3) + 2 K numbers */
    int64_t *block_rows;    /* of BLOCK */
    uint32_t *block_labels; /* of BLOCK */
} linear_rows;

/* The scores of a row whose entries are those of the base: values (column, class), then the intercepts. */
INLINE void base_scores(const double *base, const double *values, int64_t K, int64_t p, double *scores) {
    memcpy(scores, values + p * K, K * sizeof *scores);
    for (int64_t j = 0; j < p; j++)
        if (base[j] != 0)
            for (int64_t c = 0; c < K; c++) scores[c] += base[j] * values[j * K + c];
}

/* Writes the scores (row, class) of all rows. */
API void naivete_row_scores(const int64_t *start, const uint32_t *column, const double *value, const double *base, int64_t K, int64_t p,
                            int64_t rows, const double *values, double *scores) {
    for (int64_t r = 0; r < rows; r++) {
        double *row = scores + r * K;
        if (r) memcpy(row, scores, K * sizeof *row);
        else base_scores(base, values, K, p, row);
    }
    for (int64_t r = 0; r < rows; r++)
        for (int64_t e = start[r]; e < start[r + 1]; e++)
            for (int64_t c = 0; c < K; c++) scores[r * K + c] += value[e] * values[column[e] * K + c];
}

/* Adds the entries of a row times `values` (column, class) to the scores; of few classes the scores stay in registers. */
INLINE void add_entries(const linear_rows *t, int64_t r, int64_t K, const double *restrict values, double *restrict scores) {
    double few[FEW], *z = K <= FEW ? few : scores;
    if (K <= FEW)
        for (int64_t c = 0; c < K; c++) few[c] = scores[c];
    for (int64_t e = t->start[r]; e < t->start[r + 1]; e++) {
        const double x = t->value[e], *v = values + t->column[e] * K;
        for (int64_t c = 0; c < K; c++) z[c] += x * v[c];
    }
    if (K <= FEW)
        for (int64_t c = 0; c < K; c++) scores[c] = few[c];
}

/* Adds the errors of a row times its entries to the gradient (column, class). */
INLINE void spread_errors(const linear_rows *t, int64_t r, int64_t K, const double *restrict errors, double *restrict gradient) {
    for (int64_t e = t->start[r]; e < t->start[r + 1]; e++) {
        const double x = t->value[e];
        double *g = gradient + t->column[e] * K;
        for (int64_t c = 0; c < K; c++) g[c] += x * errors[c];
    }
}

/* values: (column, class), then the intercepts. */
INLINE double loss_of_classes(const linear_rows *t, const int64_t K, const double *values, double *gradient) {
    const int64_t p = t->p;
    double loss = 0, *offset = t->room, *total = offset + K, *z = total + K, *weight = z + BLOCK * K;
    base_scores(t->base, values, K, p, offset);
    for (int64_t c = 0; c < K; c++) total[c] = 0;
    for (int64_t r = 0; r < t->rows;) {
        int64_t len = 0;
        for (; r < t->rows && len < BLOCK; r++)
            if (t->weight[r] > 0) {
                memcpy(z + len * K, offset, K * sizeof *z);
                add_entries(t, r, K, values, z + len * K);
                t->block_rows[len] = r;
                t->block_labels[len] = t->labels[r];
                weight[len++] = t->weight[r];
            }
        loss += errors(z, t->block_labels, weight, K, len, weight + BLOCK);
        for (int64_t i = 0; i < len; i++) {
            for (int64_t c = 0; c < K; c++) total[c] += z[i * K + c];
            spread_errors(t, t->block_rows[i], K, z + i * K, gradient);
        }
    }
    for (int64_t j = 0; j < p; j++)
        if (t->base[j] != 0)
            for (int64_t c = 0; c < K; c++) gradient[j * K + c] += t->base[j] * total[c];
    for (int64_t c = 0; c < K; c++) gradient[p * K + c] += total[c];
    return loss;
}

/* For a known number of classes the loops over the classes are unrolled. */
INLINE double loss_of_matrix_body(const linear_rows *t, const double *values, double *gradient) {
    switch (t->K) {
    case 1: return loss_of_classes(t, 1, values, gradient);
    case 3: return loss_of_classes(t, 3, values, gradient);
    case 4: return loss_of_classes(t, 4, values, gradient);
    case 5: return loss_of_classes(t, 5, values, gradient);
    case 6: return loss_of_classes(t, 6, values, gradient);
    case 7: return loss_of_classes(t, 7, values, gradient);
    case 8: return loss_of_classes(t, 8, values, gradient);
    default: return loss_of_classes(t, t->K, values, gradient);
    }
}
BY_INSTRUCTION_SET(double, loss_of_matrix, (const linear_rows *t, const double *values, double *gradient), (t, values, gradient))

static double loss_of_rows(const void *data, const double *values, double *gradient) { return loss_of_matrix(data, values, gradient); }

/* Writes about X'WX (column + 1, column + 1) of a matrix with a last column of ones, from at most `most` of its rows. Returns 0 if
   there is not enough memory. */
API int naivete_gram_of_rows(const int64_t *start, const uint32_t *column, const double *value, const double *base,
                             const double *weight, int64_t p, int64_t rows, int64_t most, double *gram) {
    const int64_t n = p + 1, step = rows / most + 1;
    double *sum = calloc(n, sizeof *sum), all = 0, some = 0;
    if (!sum) return 0;
    memset(gram, 0, n * n * sizeof *gram);
    for (int64_t r = 0; r < rows; r++) all += weight[r];
    for (int64_t r = 0; r < rows; r += step) {
        some += weight[r];
        for (int64_t e = start[r]; e < start[r + 1]; e++) {
            const double x = weight[r] * value[e];
            sum[column[e]] += x;
            for (int64_t f = start[r]; f < start[r + 1]; f++) gram[(int64_t)column[e] * n + column[f]] += x * value[f];
        }
    }
    for (int64_t i = 0; i < n; i++) /* rows are base + entries, and the base of the last column is 1 */
        for (int64_t j = 0; j < n; j++) {
            const double a = i < p ? base[i] : 1.0, b = j < p ? base[j] : 1.0;
            gram[i * n + j] = some > 0 ? (gram[i * n + j] + a * sum[j] + b * sum[i] + some * a * b) * (all / some) : 0.0;
        }
    free(sum);
    return 1;
}

/* Replaces the lower triangles of symmetric positive definite matrices (matrix, n, n) by their Cholesky factors. */
API void naivete_factorize(double *matrices, int64_t count, int64_t n) {
    for (int64_t i = 0; i < count; i++) factorize(matrices + i * n * n, n);
}

/* Improves `values`, the weights (column, class) and the intercepts, until the penalized loss of the rows is smallest; rows of weight
   0 are not used. With a single class there is a second one, the label SECOND, whose scores are 0. `factor` has the Cholesky
   factors of the second derivatives by the values of each class (class, column + 1, column + 1), or (dense = 0) the roots of those
   by each value. Returns 0 if there is not enough memory. */
API int naivete_fit_linear(const int64_t *start, const uint32_t *column, const double *value, const double *base,
                           const uint32_t *labels, const double *weight, int64_t K, int64_t p, int64_t rows, const double *strength,
                           const double *origin, const double *factor, int dense, int64_t steps, double tolerance, double *values) {
    const int64_t n = p + 1;
    double *room = malloc((BLOCK * (K + 3) + 2 * K) * sizeof *room);
    int64_t *block_rows = malloc(BLOCK * sizeof *block_rows);
    uint32_t *block_labels = malloc(BLOCK * sizeof *block_labels);
    int status = room && block_rows && block_labels;
    if (status) {
        const linear_rows data = {start, column, value, base, labels, weight, K, p, rows, room, block_rows, block_labels};
        const objective o = {loss_of_rows, &data, dense ? K : n * K, dense ? n : 1, strength, origin, factor};
        status = minimize(&o, steps, tolerance, values);
    }
    free(room);
    free(block_rows);
    free(block_labels);
    return status;
}

/* Log-probabilities of the classes of some rows, minus that of the label: the other classes of each row side by side. */
typedef struct {
    const double *others; /* (row, other) */
    const double *weight;
    int64_t many, rows;   /* other classes of each row, rows */
    double *room;         /* of BLOCK (many + 3) numbers */
} differences;

/* The loss of the log-probabilities multiplied by a factor, its slope and its curvature. */
INLINE double loss_at_body(const differences *t, double factor, double *slope, double *curvature) {
    const int64_t many = t->many;
    double loss = 0, *z = t->room, *top = z + BLOCK * many, *sum = top + BLOCK, *rest = sum + BLOCK;
    *slope = *curvature = 0;
    for (int64_t lo = 0; lo < t->rows; lo += BLOCK) {
        const int64_t len = lo + BLOCK < t->rows ? BLOCK : t->rows - lo;
        const double *u = t->others + lo * many, *weight = t->weight + lo;
        for (int64_t i = 0; i < len; i++) top[i] = 0;
        for (int64_t i = 0; i < len; i++)
            for (int64_t c = 0; c < many; c++) top[i] = factor * u[i * many + c] > top[i] ? factor * u[i * many + c] : top[i];
        for (int64_t i = 0; i < len; i++)
            for (int64_t c = 0; c < many; c++) z[i * many + c] = factor * u[i * many + c] - top[i];
        for (int64_t i = 0; i < len * many; i++) z[i] = exp_of(z[i]);
        for (int64_t i = 0; i < len; i++) sum[i] = exp_of(-top[i]);
        for (int64_t i = 0; i < len; i++)
            for (int64_t c = 0; c < many; c++) sum[i] += z[i * many + c];
        for (int64_t i = 0; i < len; i++) rest[i] = log_of(sum[i]);
        for (int64_t i = 0; i < len; i++) {
            double mean = 0, square = 0;
            for (int64_t c = 0; c < many; c++) {
                const double share = z[i * many + c] * u[i * many + c];
                mean += share;
                square += share * u[i * many + c];
            }
            mean /= sum[i];
            loss += weight[i] * (rest[i] + top[i]);
            *slope += weight[i] * mean;
            *curvature += weight[i] * (square / sum[i] - mean * mean);
        }
    }
    return loss;
}
BY_INSTRUCTION_SET(double, loss_at, (const differences *t, double factor, double *slope, double *curvature),
                   (t, factor, slope, curvature))

/* Finds the factor from low to high that minimizes the loss of the log-probabilities logs[r * row + c * step] plus
   1/2 strength (factor - 1)^2 as `temperature` of weights.py does. Returns the minimum, and NaN if there is not enough memory. */
API double naivete_temperature(const double *logs, int64_t row, int64_t step, const uint32_t *labels, const double *weight, int64_t K,
                               int64_t rows, double strength, double low, double high, double tolerance, double *factor) {
    const int64_t many = K - 1;
    double slope, curvature, *space = malloc((rows * many + BLOCK * (many + 3)) * sizeof *space), at = 1;
    if (!space) return NAN;
    const differences data = {space, weight, many, rows, space + rows * many};
    for (int64_t r = 0; r < rows; r++) {
        const double own = logs[r * row + labels[r] * step];
        double *u = space + r * many;
        for (int64_t c = 0; c < K; c++)
            if (c != labels[r]) *u++ = logs[r * row + c * step] - own;
    }
    for (int i = 0; i < 40; i++) {
        loss_at(&data, at, &slope, &curvature);
        slope += strength * (at - 1);
        curvature += strength;
        if (slope > 0) high = at;
        else low = at;
        const double newton = curvature > 0 ? at - slope / curvature : low;
        const double next = low < newton && newton < high ? newton : (low + high) / 2;
        if (fabs(next - at) < tolerance * at) break;
        at = next;
    }
    *factor = at;
    const double loss = loss_at(&data, at, &slope, &curvature);
    free(space);
    return loss + 0.5 * strength * (at - 1) * (at - 1);
}
