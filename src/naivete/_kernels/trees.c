/* Classification trees whose nodes all keep the weights of the classes: growing one on a sample, and posteriors along its paths.

   A node is three numbers: its column (negative at a leaf), its test, and its first child; the other children follow. A test t >= 0
   sends codes up to t to the first branch and the others to the second; t = -1 gives every code a branch of its own; t <= -2 sends
   the code -2 - t to the first branch and the others to the second. A missing value has the code after the last one. The NumPy version
   of every function is in trees.py. */

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "columns.h"

enum { AT_ONCE = 4 }; /* rows that descend at the same time */

INLINE int64_t branch(const int64_t *node, int64_t value) {
    return node[2] + (node[1] == -1 ? value : node[1] < 0 ? value != -2 - node[1] : value > node[1]);
}

/* Returns the next number of splitmix64. */
INLINE uint64_t next_random(uint64_t *state) {
    uint64_t z = (*state += 0x9E3779B97F4A7C15ull);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
}

/* The sum of n log P(class) of the cases of a node, each left out, where P is estimated from the others and from the parent. */
INLINE double left_out(const double *n, double total, const double *parent, int64_t K, double m) {
    double sum = 0;
    for (int64_t c = 0; c < K; c++)
        if (n[c] > 0) sum += n[c] * log(((n[c] > 1 ? n[c] - 1 : 0) + m * parent[c]) / ((total > 1 ? total - 1 : 0) + m));
    return sum;
}

/* Writes the leaf of each of the rows from..to. */
API void naivete_tree_leaves(const column *columns, const int64_t *states, const int64_t *nodes, int64_t from, int64_t to,
                             int64_t *leaves) {
    for (int64_t r = from; r < to; r += AT_ONCE) {
        const int64_t rows = to - r < AT_ONCE ? to - r : AT_ONCE;
        int64_t at[AT_ONCE] = {0};
        for (int moved = 1; moved;) {
            moved = 0;
            for (int64_t k = 0; k < rows; k++) {
                const int64_t *node = nodes + 3 * at[k];
                if (node[0] < 0) continue;
                at[k] = branch(node, known_code(columns + node[0], states[node[0]], r + k));
                moved = 1;
            }
        }
        memcpy(leaves + r, at, rows * sizeof *at);
    }
}

/* Adds the weights (node, class) of all nodes to those of their parents; every child comes after its parent. */
API void naivete_tree_sums(const int64_t *states, const int64_t *nodes, int64_t n, int64_t K, double *weights) {
    for (int64_t at = n - 1; at >= 0; at--) {
        const int64_t col = nodes[3 * at];
        const int64_t cells = col < 0 ? 0 : K * (nodes[3 * at + 1] == -1 ? states[col] + 1 : 2);
        const double *children = weights + nodes[3 * at + 2] * K;
        for (int64_t i = 0; i < cells; i++) weights[at * K + i % K] += children[i];
    }
}

/* For the rows from..to and `count` trees: adds the mean of log P(class | node) at the given depths, or at the leaf, to `logs` (row,
   depth, class), and that of P(class | leaf) to `mean` (row, class). P_d = (n + m P_{d-1}) / (N + m), P_{-1} uniform; weights[t]
   (node, class) are the counts; leave[r] is left out in class labels[r]. The mean of row r is over the trees with used[t * rows + r],
   over all of them where there is none; used = NULL means all. Returns 0 if there is not enough memory. */
API int naivete_tree_posteriors(const column *columns, const int64_t *states, const int64_t *const *trees, const double *const *weights,
                                const uint8_t *used, int64_t count, int64_t rows, int64_t K, double m, const uint32_t *labels,
                                const double *leave, const int64_t *wanted, int64_t many, int64_t from, int64_t to, double *logs,
                                double *mean) {
    double *P = malloc(K * sizeof *P);
    if (!P) return 0;
    for (int64_t lo = from; lo < to; lo += 256) {
        const int64_t hi = lo + 256 < to ? lo + 256 : to;
        for (int64_t t = 0; t < count; t++)
            for (int64_t r = lo; r < hi; r++) {
                int64_t uses = count;
                if (used) {
                    uses = 0;
                    for (int64_t i = 0; i < count; i++) uses += used[i * rows + r];
                    if (uses && !used[t * rows + r]) continue;
                    if (!uses) uses = count;
                }
                const double share = 1.0 / uses, w = leave ? leave[r] : 0.0;
                const int64_t y = leave ? (int64_t)labels[r] : -1, *nodes = trees[t];
                for (int64_t c = 0; c < K; c++) P[c] = 1.0 / K;
                int64_t at = 0, done = 0;
                for (int64_t d = 0;; d++) {
                    const double *n = weights[t] + at * K;
                    double N = -w;
                    for (int64_t c = 0; c < K; c++) N += n[c];
                    if (N > 1e-9)
                        for (int64_t c = 0; c < K; c++) {
                            const double own = c == y ? (n[c] > w ? n[c] - w : 0.0) : n[c];
                            P[c] = (own + m * P[c]) / (N + m);
                            if (P[c] < SMALLEST) P[c] = SMALLEST;
                        }
                    const int64_t col = nodes[3 * at];
                    if (done < many && (col < 0 || wanted[done] == d)) {
                        const int64_t last = col < 0 ? many : done + 1;
                        for (int64_t c = 0; c < K; c++) {
                            const double l = share * log(P[c]);
                            for (int64_t i = done; i < last; i++) logs[(r * many + i) * K + c] += l;
                        }
                        done = last;
                    }
                    if (col < 0) break;
                    at = branch(nodes + 3 * at, known_code(columns + col, states[col], r));
                }
                for (int64_t c = 0; c < K; c++) mean[r * K + c] += share * P[c];
            }
    }
    free(P);
    return 1;
}

enum { WIDEST = 64 }; /* the most branches of a node */

typedef struct {
    int64_t node, lo, hi, depth;
} work;

/* Grows a tree on n rows of `codes` (column, n), whose values are at most states[column], the last standing for missing.
   At each node `many` columns are drawn; of each the threshold with the smallest Gini impurity is taken (nominal[column]: the one
   code that is separated from the others, or a branch for every code), and of these the one with the largest left-out sum of log P. A node is split if that is larger than
   without a split, or anyway where `always` is not 0. Writes at most `most` nodes and returns their number, -1 if there is not
   enough memory. */
API int64_t naivete_grow_tree(const uint16_t *codes, const int64_t *states, const uint8_t *nominal, int64_t features, int64_t n,
                              const uint32_t *labels, const double *weight, int64_t K, double m, int64_t many, int64_t deepest,
                              int64_t always, uint64_t seed, int64_t most, int64_t *nodes) {
    int64_t widest = 0;
    for (int64_t x = 0; x < features; x++) widest = states[x] > widest ? states[x] : widest;
    widest += 1;
    uint32_t *order = malloc(n * sizeof *order), *spare = malloc(n * sizeof *spare);
    int64_t *drawn = malloc(features * sizeof *drawn), *starts = malloc((widest + 2) * sizeof *starts);
    double *P = malloc(most * K * sizeof *P), *table = malloc(widest * K * sizeof *table), *sums = malloc(3 * K * sizeof *sums);
    work *stack = malloc(most * sizeof *stack);
    int64_t made = -1;
    if (!order || !spare || !drawn || !starts || !P || !table || !sums || !stack) goto done;
    double *here = sums, *left = sums + K, *right = sums + 2 * K;
    for (int64_t i = 0; i < n; i++) order[i] = (uint32_t)i;
    for (int64_t x = 0; x < features; x++) drawn[x] = x;
    for (int64_t c = 0; c < K; c++) P[c] = 1.0 / K;
    made = 1;
    int64_t waiting = 0;
    stack[waiting++] = (work){0, 0, n, 0};
    while (waiting) {
        const work job = stack[--waiting];
        int64_t *node = nodes + 3 * job.node;
        double *parent = P + job.node * K, total = 0; /* until it is replaced below, the estimate of the parent */
        node[0] = -1, node[1] = -1, node[2] = 0;
        memset(here, 0, K * sizeof *here);
        for (int64_t i = job.lo; i < job.hi; i++) here[labels[order[i]]] += weight[order[i]];
        int64_t kinds = 0;
        for (int64_t c = 0; c < K; c++) total += here[c], kinds += here[c] > 0;
        if (kinds < 2 || job.depth >= deepest) continue;
        const double unsplit = left_out(here, total, parent, K, m);
        for (int64_t c = 0; c < K; c++) parent[c] = (here[c] + m * parent[c]) / (total + m);
        double best = always ? -INFINITY : unsplit;
        int64_t column = -1, threshold = -1;
        for (int64_t j = 0; j < many; j++) {
            const int64_t pick = j + (int64_t)(next_random(&seed) % (uint64_t)(features - j)), x = drawn[pick];
            drawn[pick] = drawn[j];
            drawn[j] = x;
            const uint16_t *v = codes + x * n;
            const int64_t size = states[x] + 1;
            int64_t low = size, high = -1;
            memset(table, 0, size * K * sizeof *table);
            for (int64_t i = job.lo; i < job.hi; i++) {
                const int64_t value = v[order[i]];
                table[value * K + labels[order[i]]] += weight[order[i]];
                low = value < low ? value : low;
                high = value > high ? value : high;
            }
            if (low == high) continue;
            double score = -INFINITY, purest = -1, N = 0;
            int64_t cut = -1;
            if (nominal[x] && size <= WIDEST && made + size <= most) { /* a branch for every code */
                score = 0;
                for (int64_t s = low; s <= high; s++) {
                    N = 0;
                    for (int64_t c = 0; c < K; c++) N += table[s * K + c];
                    if (N > 0) score += left_out(table + s * K, N, parent, K, m);
                }
                N = 0;
            }
            int64_t best_code = -1;
            memset(left, 0, K * sizeof *left);
            for (int64_t s = low; s <= high - !nominal[x]; s++) {
                double added = 0, one = 0, two = 0;
                for (int64_t c = 0; c < K; c++) added += table[s * K + c];
                if (!(added > 0)) continue;
                N = nominal[x] ? added : N + added;
                for (int64_t c = 0; c < K; c++) {
                    left[c] = nominal[x] ? table[s * K + c] : left[c] + table[s * K + c];
                    const double other = here[c] - left[c];
                    one += left[c] * left[c];
                    two += other * other;
                }
                const double purity = one / N + two / (total - N);
                if (purity > purest) purest = purity, best_code = s;
            }
            double L = 0, R = 0;
            memset(left, 0, K * sizeof *left);
            for (int64_t s = nominal[x] ? best_code : low; s <= best_code; s++)
                for (int64_t c = 0; c < K; c++) left[c] += table[s * K + c];
            for (int64_t c = 0; c < K; c++) right[c] = here[c] - left[c], L += left[c], R += right[c];
            const double two_branches = left_out(left, L, parent, K, m) + left_out(right, R, parent, K, m);
            if (two_branches > score + 1e-9) score = two_branches, cut = nominal[x] ? -2 - best_code : best_code;
            if (score > best + 1e-9) best = score, column = x, threshold = cut;
        }
        const int64_t branches = column < 0 ? 0 : threshold == -1 ? states[column] + 1 : 2;
        if (column < 0 || made + branches > most) continue;
        node[0] = column, node[1] = threshold, node[2] = made;
        /* the rows of each branch side by side, in their order */
        memset(starts, 0, (branches + 1) * sizeof *starts);
        const uint16_t *v = codes + column * n;
        for (int64_t i = job.lo; i < job.hi; i++) starts[branch(node, v[order[i]]) - made + 1]++;
        for (int64_t b = 0; b < branches; b++) starts[b + 1] += starts[b];
        for (int64_t b = 0; b < branches; b++) {
            memcpy(P + (made + b) * K, parent, K * sizeof *P);
            stack[waiting++] = (work){made + b, job.lo + starts[b], job.lo + starts[b + 1], job.depth + 1};
        }
        memcpy(spare + job.lo, order + job.lo, (job.hi - job.lo) * sizeof *spare);
        for (int64_t i = job.lo; i < job.hi; i++) order[job.lo + starts[branch(node, v[spare[i]]) - made]++] = spare[i];
        made += branches;
    }
done:
    free(order);
    free(spare);
    free(drawn);
    free(starts);
    free(P);
    free(table);
    free(sums);
    free(stack);
    return made;
}
