/* The errors of naive Bayes after each of many changes to its terms. The NumPy version is in changes.py. */

#include <stdint.h>

#include "columns.h"

/* Adds to out[m] the weight of the first affected[m] rows that are wrong after the change m. The change of a row depends on the
   configuration of its attributes: `other` in the other classes, `own` in the class of the row, from which it is subtracted. A row
   is wrong if the log-probability of another class, relative to its own, is at least the bound of that class. */
API void naivete_changed_errors(const int32_t *codes, int64_t rows, const int64_t *attributes, const int64_t *strides, int64_t k,
                                const double *other, const double *own, int64_t cells, int64_t classes, const int32_t *labels,
                                const int64_t *weight, const double *logs, const double *bounds, const int64_t *affected,
                                int64_t first, int64_t last, int64_t *out) {
    for (int64_t m = first; m < last; m++) {
        const double *o = other + m * cells * classes, *w = own + m * cells * classes;
        const int64_t *x = attributes + m * k;
        int64_t sum = 0;
        for (int64_t r = 0; r < affected[m]; r++) {
            int64_t cell = 0;
            for (int64_t j = 0; j < k; j++) cell += strides[j] * codes[x[j] * rows + r];
            const double *at = o + cell * classes, *log = logs + r * classes, *bound = bounds + r * classes;
            const double mine = w[cell * classes + labels[r]];
            int wrong = 0;
            for (int64_t c = 0; c < classes; c++) wrong |= log[c] + at[c] - mine >= bound[c];
            sum += wrong ? weight[r] : 0;
        }
        out[m] += sum;
    }
}
