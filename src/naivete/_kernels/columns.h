/* What the files of C share that read columns of codes: exported functions, the smallest probability, and a column of codes. */

#ifndef NAIVETE_COLUMNS_H
#define NAIVETE_COLUMNS_H

#include <stdint.h>

#ifdef _WIN32
#define API __declspec(dllexport)
#else
#define API
#endif
#define SMALLEST 1e-30 /* the smallest probability, so that logarithms are finite */
#define INLINE static inline __attribute__((always_inline))

typedef struct {
    const uint8_t *data;
    int64_t stride; /* bytes between consecutive rows */
    int64_t item;   /* bytes of a code: 1, 2 or 4 */
} column;

INLINE uint32_t code(const column *c, int64_t r) {
    const uint8_t *x = c->data + r * c->stride;
    return c->item == 1 ? *x : c->item == 2 ? *(const uint16_t *)x : *(const uint32_t *)x;
}

/* The code of a row, `states` where it is missing. */
INLINE int64_t known_code(const column *c, int64_t states, int64_t r) {
    const int64_t value = code(c, r);
    return value < states ? value : states;
}

/* Writes the known codes of the rows from..from + len, those of a row side by side. */
INLINE void known_codes(const column *columns, const int64_t *states, int64_t width, int64_t from, int64_t len, uint32_t *codes) {
    for (int64_t x = 0; x < width; x++)
        for (int64_t i = 0; i < len; i++) codes[i * width + x] = (uint32_t)known_code(columns + x, states[x], from + i);
}

#endif
