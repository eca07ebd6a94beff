/* Classification trees whose nodes all keep the weights of the classes: growing one on a sample, and posteriors along its paths.

   A node is three numbers: its column (negative at a leaf), its test, and its first child; the other children follow. A test t >= 0
   sends codes up to t to the first branch and the others to the second; t = -1 gives every code a branch of its own; t <= -2 sends
   the code -2 - t to the first branch and the others to the second. A missing value has the code after the last one; where it is that
   of a complete column, which had no missing values in training, a row ends at the node. The NumPy version of every function is in
   trees.py. */

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "elementary.h"

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

/* Adds share[i] times the logarithms of `size` probabilities of each row i to `logs`. */
INLINE int add_logs_body(const double *P, const double *share, int64_t rows, int64_t size, double *logs) {
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < size; j++) logs[i * size + j] += share[i] * log_of(P[i * size + j]);
    return 1;
}
BY_INSTRUCTION_SET(int, add_logs, (const double *P, const double *share, int64_t rows, int64_t size, double *logs),
                   (P, share, rows, size, logs))

/* For the rows from..to and `count` trees: adds the mean of log P(class | node) at the given depths, or where the row ends, to `logs`
   (row, depth, class), and that of P(class) there to `mean` (row, class). complete[column] is not 0 for complete columns.
   P_d = (n + m P_{d-1}) / (N + m), P_{-1} uniform; weights[t] (node, class) are the counts; leave[r] is left out in class labels[r].
   The mean of row r is over the trees with used[t * rows + r], over all of them where there is none; used = NULL means all. Returns 0
   if there is not enough memory. */
API int naivete_tree_posteriors(const column *columns, const int64_t *states, const uint8_t *complete, const int64_t *const *trees,
                                const double *const *weights, const uint8_t *used, int64_t count, int64_t rows, int64_t K, double m,
                                const uint32_t *labels, const double *leave, const int64_t *wanted, int64_t many, int64_t from,
                                int64_t to, double *logs, double *mean) {
    enum { BLOCK = 64 };
    const int64_t size = many * K;
    double *space = malloc((K + BLOCK * (size + 2)) * sizeof *space);
    if (!space) return 0;
    double *P = space, *found = P + K, *share = found + BLOCK * size, *each = share + BLOCK;
    for (int64_t lo = from; lo < to; lo += BLOCK) {
        const int64_t len = lo + BLOCK < to ? BLOCK : to - lo;
        for (int64_t i = 0; i < len; i++) {
            int64_t uses = 0;
            for (int64_t t = 0; used && t < count; t++) uses += used[t * rows + lo + i];
            each[i] = uses ? uses : -1.0; /* of how many trees the mean is; -1 for all */
        }
        for (int64_t t = 0; t < count; t++) {
            for (int64_t i = 0; i < len; i++) {
                const int64_t r = lo + i;
                if (each[i] > 0 && !used[t * rows + r]) {
                    share[i] = 0;
                    for (int64_t j = 0; j < size; j++) found[i * size + j] = 1;
                    continue;
                }
                share[i] = 1.0 / (each[i] > 0 ? each[i] : (double)count);
                const double w = leave ? leave[r] : 0.0;
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
                    const int64_t col = nodes[3 * at], value = col < 0 ? 0 : known_code(columns + col, states[col], r);
                    const int end = col < 0 || (complete[col] && value == states[col]);
                    if (done < many && (end || wanted[done] == d))
                        for (const int64_t last = end ? many : done + 1; done < last; done++)
                            memcpy(found + i * size + done * K, P, K * sizeof *P);
                    if (end) break;
                    at = branch(nodes + 3 * at, value);
                }
                for (int64_t c = 0; c < K; c++) mean[r * K + c] += share[i] * P[c];
            }
            add_logs(found, share, len, size, logs + lo * size);
        }
    }
    free(space);
    return 1;
}

enum { WIDEST = 64 }; /* the most branches of a node */

typedef struct {
    int64_t node, lo, hi, depth;
} work;

/* Lists the marked codes, increasing, and clears the marks, of which there is room for a multiple of 8; returns their number. */
INLINE int64_t list_codes(uint8_t *marks, int64_t size, uint32_t *list) {
    int64_t number = 0;
    for (int64_t from = 0; from < size; from += 8) {
        uint64_t eight;
        memcpy(&eight, marks + from, 8);
        if (!eight) continue;
        for (int64_t code = from; code < from + 8; code++)
            if (marks[code]) list[number++] = (uint32_t)code;
        memset(marks + from, 0, 8);
    }
    return number;
}

enum { TOGETHER = 4 }; /* columns whose weights are added up together */

/* A tree that grows, and its present node: rows lo..hi of `order`. */
typedef struct {
    const uint16_t *codes; /* (column, row); the last code stands for missing */
    const int64_t *states;
    const uint8_t *nominal;
    int64_t n, K;
    double m;
    uint32_t *order, *own; /* the rows of a node side by side, the class of each, */
    double *share;         /* and its weight */
    int64_t lo, hi;
    double *here, total;   /* the weights of the classes in the node, and their sum */
    const double *parent;  /* the estimate of P(class) in the node */
    double *left, *right;  /* room for K numbers each */
    double *tables;        /* (code, class) of TOGETHER columns: the weights in the node; zeros between two uses */
    uint8_t *marks;        /* the codes that occur, of TOGETHER columns */
    int64_t widest;        /* the most codes of a column */
    uint32_t *list;
} growing;

/* The best split so far: the left-out sum of log P, the column and the test. */
typedef struct {
    double score;
    int64_t column, test;
} choice;

/* Adds up the weights of the rows of the node by code and class: a sum waits for the one before it only if that is of the same code
   of the same column. */
INLINE void add_up(const growing *g, const int64_t *columns, int64_t many) {
    const uint16_t *codes[TOGETHER];
    for (int64_t j = 0; j < many; j++) codes[j] = g->codes + columns[j] * g->n;
    for (int64_t i = g->lo; i < g->hi; i++)
        for (int64_t j = 0; j < many; j++) {
            const int64_t value = codes[j][g->order[i]];
            g->tables[(j * g->widest + value) * g->K + g->own[i]] += g->share[i];
            g->marks[j * (g->widest + 8) + value] = 1;
        }
}

/* Returns the left-out sum of log P of the best split by a column whose weights were added up, and its test: two branches, or one for
   each code where that is better and the column has at most `most` codes. The weights are cleared. */
static double best_split(const growing *g, int64_t column, int64_t j, int64_t most, int64_t *test) {
    const int64_t K = g->K, size = g->states[column] + 1;
    double *table = g->tables + j * g->widest * K, *left = g->left, *right = g->right;
    const int nominal = g->nominal[column];
    const int64_t number = list_codes(g->marks + j * (g->widest + 8), size, g->list), cuts = number - !nominal;
    double score = -INFINITY;
    if (number > 1) {
        double purest = -1, N = 0, L = 0, R = 0;
        int64_t best_at = 0;
        if (nominal && size <= WIDEST && size <= most) {
            score = 0;
            *test = -1;
            for (int64_t k = 0; k < number; k++) {
                N = 0;
                for (int64_t c = 0; c < K; c++) N += table[g->list[k] * K + c];
                score += left_out(table + g->list[k] * K, N, g->parent, K, g->m);
            }
            N = 0;
        }
        memset(left, 0, K * sizeof *left);
        for (int64_t k = 0; k < cuts; k++) {
            const double *cells = table + g->list[k] * K;
            double added = 0, one = 0, two = 0;
            for (int64_t c = 0; c < K; c++) added += cells[c];
            N = nominal ? added : N + added;
            for (int64_t c = 0; c < K; c++) {
                left[c] = nominal ? cells[c] : left[c] + cells[c];
                const double other = g->here[c] - left[c];
                one += left[c] * left[c];
                two += other * other;
            }
            const double purity = one / N + two / (g->total - N);
            if (purity > purest) purest = purity, best_at = k;
        }
        memset(left, 0, K * sizeof *left);
        for (int64_t k = nominal ? best_at : 0; k <= best_at; k++)
            for (int64_t c = 0; c < K; c++) left[c] += table[g->list[k] * K + c];
        for (int64_t c = 0; c < K; c++) right[c] = g->here[c] - left[c], L += left[c], R += right[c];
        const double two_branches = left_out(left, L, g->parent, K, g->m) + left_out(right, R, g->parent, K, g->m);
        if (two_branches > score + 1e-9) {
            score = two_branches;
            *test = nominal ? -2 - (int64_t)g->list[best_at] : (int64_t)g->list[best_at];
        }
    }
    for (int64_t k = 0; k < number; k++) memset(table + g->list[k] * K, 0, K * sizeof *table);
    return score;
}

/* Grows a tree on n rows of `codes` (column, n), whose values are at most states[column], the last standing for missing.
   At each node `many` columns are drawn; of each the threshold with the smallest Gini impurity is taken (nominal[column]: the one
   code that is separated from the others, or a branch for every code), and of these the one with the largest left-out sum of log P. A
   node is split if that is larger than without a split, or anyway where `always` is not 0. Writes at most `most` nodes and returns
   their number, -1 if there is not enough memory. */
API int64_t naivete_grow_tree(const uint16_t *codes, const int64_t *states, const uint8_t *nominal, int64_t features, int64_t n,
                              const uint32_t *labels, const double *weight, int64_t K, double m, int64_t many, int64_t deepest,
                              int64_t always, uint64_t seed, int64_t most, int64_t *nodes) {
    int64_t widest = 0;
    for (int64_t x = 0; x < features; x++) widest = states[x] > widest ? states[x] : widest;
    widest += 1;
    uint32_t *rows = malloc((3 * n + widest + 8) * sizeof *rows), *spare = rows + 2 * n;
    int64_t *drawn = malloc((features + widest + 2) * sizeof *drawn), *starts = drawn + features;
    double *P = malloc(most * K * sizeof *P), *sums = malloc((3 * K + n) * sizeof *sums);
    double *tables = calloc(TOGETHER * widest * K, sizeof *tables);
    uint8_t *marks = calloc(TOGETHER * (widest + 8), sizeof *marks);
    work *stack = malloc(most * sizeof *stack);
    int64_t made = -1;
    if (!rows || !drawn || !P || !sums || !tables || !marks || !stack) goto done;
    growing g = {codes, states, nominal, n, K, m, rows, rows + n, sums + 3 * K, 0, 0, sums, 0, P, sums + K, sums + 2 * K, tables, marks,
                 widest, spare + n};
    for (int64_t i = 0; i < n; i++) g.order[i] = (uint32_t)i;
    for (int64_t x = 0; x < features; x++) drawn[x] = x;
    for (int64_t c = 0; c < K; c++) P[c] = 1.0 / K;
    made = 1;
    int64_t waiting = 0;
    stack[waiting++] = (work){0, 0, n, 0};
    while (waiting) {
        const work job = stack[--waiting];
        int64_t *node = nodes + 3 * job.node;
        double *parent = P + job.node * K; /* until it is replaced below, the estimate of the parent */
        node[0] = -1, node[1] = -1, node[2] = 0;
        g.lo = job.lo, g.hi = job.hi, g.parent = parent, g.total = 0;
        memset(g.here, 0, K * sizeof *g.here);
        for (int64_t i = g.lo; i < g.hi; i++) {
            g.own[i] = labels[g.order[i]];
            g.share[i] = weight[g.order[i]];
            g.here[g.own[i]] += g.share[i];
        }
        int64_t kinds = 0;
        for (int64_t c = 0; c < K; c++) g.total += g.here[c], kinds += g.here[c] > 0;
        if (kinds < 2 || job.depth >= deepest) continue;
        const double unsplit = left_out(g.here, g.total, parent, K, m);
        for (int64_t c = 0; c < K; c++) parent[c] = (g.here[c] + m * parent[c]) / (g.total + m);
        choice best = {always ? -INFINITY : unsplit, -1, -1};
        for (int64_t j = 0; j < many; j++) {
            const int64_t pick = j + (int64_t)(next_random(&seed) % (uint64_t)(features - j)), x = drawn[pick];
            drawn[pick] = drawn[j];
            drawn[j] = x;
        }
        for (int64_t j = 0; j < many; j += TOGETHER) {
            const int64_t columns = many - j < TOGETHER ? many - j : TOGETHER;
            if (columns == TOGETHER) add_up(&g, drawn + j, TOGETHER);
            else add_up(&g, drawn + j, columns);
            for (int64_t k = 0; k < columns; k++) {
                int64_t test = -1;
                const double score = best_split(&g, drawn[j + k], k, most - made, &test);
                if (score > best.score + 1e-9) best = (choice){score, drawn[j + k], test};
            }
        }
        const int64_t branches = best.column < 0 ? 0 : best.test == -1 ? states[best.column] + 1 : 2;
        if (best.column < 0 || made + branches > most) continue;
        node[0] = best.column, node[1] = best.test, node[2] = made;
        /* the rows of each branch side by side, in their order */
        memset(starts, 0, (branches + 1) * sizeof *starts);
        const uint16_t *v = codes + best.column * n;
        for (int64_t i = job.lo; i < job.hi; i++) starts[branch(node, v[g.order[i]]) - made + 1]++;
        for (int64_t b = 0; b < branches; b++) starts[b + 1] += starts[b];
        for (int64_t b = 0; b < branches; b++) {
            memcpy(P + (made + b) * K, parent, K * sizeof *P);
            stack[waiting++] = (work){made + b, job.lo + starts[b], job.lo + starts[b + 1], job.depth + 1};
        }
        memcpy(spare + job.lo, g.order + job.lo, (job.hi - job.lo) * sizeof *spare);
        for (int64_t i = job.lo; i < job.hi; i++) g.order[job.lo + starts[branch(node, v[spare[i]]) - made]++] = spare[i];
        made += branches;
    }
done:
    free(rows);
    free(drawn);
    free(P);
    free(sums);
    free(tables);
    free(marks);
    free(stack);
    return made;
}
