/* The inner loops of naivete: counting families, bit planes, counting pairs, prediction.

   Called through ctypes by the Python modules of this folder, which prepare the arguments and contain an equivalent NumPy
   implementation of every function; nothing is checked here. All functions are loops over arrays of the caller and may run
   concurrently on different parts of the result. With -DPLAIN only C99 and compiler builtins are used, no SIMD intrinsics. */

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if !defined(PLAIN) && defined(__x86_64__)
#define X86 1
#include <immintrin.h>
#define TARGET(name) __attribute__((target(name)))
#endif
#ifdef _WIN32
#define API __declspec(dllexport)
#else
#define API
#endif
#define INLINE static inline __attribute__((always_inline))

enum {
    STEP = 1024,  /* rows whose cells are computed in one batch */
    SMALL = 512,  /* largest table, in cells, that is counted in four copies */
    CHUNK = 1024, /* rows that are packed in one batch: 16 words */
    GROUP = 64,   /* columns that are packed in one batch */
    FEW = 40,     /* up to this many states, bits are found by comparison; with more states they are set one by one */
    WORDS = 512,  /* words of a plane that are counted in one batch */
    AHEAD = 8,    /* prefetch distance, in entries */
    TOGETHER = 16, /* rows that descend a tree in one batch */
};
#define NOWHERE UINT32_MAX

typedef struct {
    const uint8_t *data;
    int64_t stride; /* bytes between consecutive rows */
    int64_t item;   /* bytes of a code: 1, 2 or 4 */
} column;

typedef struct {
    const int64_t *first;   /* index of the first member of each family, and the end of the last family */
    const int64_t *members; /* columns, never negative */
    const int64_t *strides; /* cells between consecutive states of the member */
    const int64_t *offsets; /* first cell of the table of each family */
    const int64_t *sizes;   /* number of cells of the table of each family */
} layout;

typedef struct {
    uint64_t *words;       /* (plane, word) */
    const int64_t *bounds; /* first word of each class, and the end of the last class */
    const int64_t *counts; /* number of rows of each class */
    int64_t width;         /* number of words of a plane */
    int64_t classes;
} bitmaps;

typedef struct {
    const int64_t *starts;        /* index in members of the first plane of each row, and the end of the last row */
    const int32_t *members;       /* the planes of each row, increasing */
    const int64_t *column_starts; /* index of the first entry of each plane and class, and the end of the last */
    const int32_t *column_rows;   /* the row of each entry */
    const int64_t *column_places; /* the position of each entry in members */
    int64_t classes;
} incidences;

INLINE int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
INLINE int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

/* Instruction set: 0 is the baseline of the architecture, 1 is AVX2, 2 is AVX-512 with VPOPCNTDQ. */
static int level = -1;

/* Selects the best instruction set that the processor supports, at most the given level; returns the selected level. */
API int naivete_level(int at_most) {
    int found = 0;
#ifdef X86
    if (__builtin_cpu_supports("avx2")) found = 1;
    if (found && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vpopcntdq")) found = 2;
#endif
    return level = found < at_most ? found : at_most;
}

/* The instruction set, for the other files. */
int instruction_set(void) { return level < 0 ? 0 : level; }

/* Expands the statement for codes of one, two or four bytes. */
#define BY_ITEM(item, STATEMENT)               \
    if ((item) == 1) { STATEMENT(uint8_t) }    \
    else if ((item) == 2) { STATEMENT(uint16_t) } \
    else if ((item) == 4) { STATEMENT(uint32_t) }

/* Returns code r of a contiguous column. */
INLINE uint32_t code(const void *x, int64_t r, int64_t item) {
    return item == 1 ? ((const uint8_t *)x)[r] : item == 2 ? ((const uint16_t *)x)[r] : ((const uint32_t *)x)[r];
}

#ifdef X86
/* Transposes a tile of sixteen rows and `wide` (16 or 8) bytes of each, starting at byte `at`, into columns `step` bytes apart.
   Each round interleaves the two halves of the rows, which rotates the bits of an element's index (row, column) left by one. */
INLINE void transpose(const uint8_t *const *row, int64_t at, int wide, uint8_t *out, int64_t step) {
    __m128i x[16], y[16];
    for (int i = 0; i < wide; i++) {
        if (wide == 16) x[i] = _mm_loadu_si128((const __m128i *)(row[i] + at));
        else x[i] = _mm_unpacklo_epi8(_mm_loadl_epi64((const __m128i *)(row[i] + at)),
                                      _mm_loadl_epi64((const __m128i *)(row[i + 8] + at)));
    }
    for (int round = wide == 16 ? 4 : 3; round > 0; round--) {
        for (int i = 0; i < wide / 2; i++) {
            y[2 * i] = _mm_unpacklo_epi8(x[i], x[i + wide / 2]);
            y[2 * i + 1] = _mm_unpackhi_epi8(x[i], x[i + wide / 2]);
        }
        memcpy(x, y, wide * sizeof *x);
    }
    for (int i = 0; i < wide; i++) _mm_storeu_si128((__m128i *)(out + i * step), x[i]);
}

/* Copies the rows of `run` adjacent byte columns in groups of sixteen; returns the number of rows copied. */
static int64_t copy_tiles(const column *c, int64_t run, const uint32_t *order, int64_t from, int64_t len, uint8_t *out,
                          int64_t step) {
    const int64_t wide = run >= 16 ? 16 : 8;
    const uint8_t *row[16];
    int64_t done = 0;
    for (; done + 16 <= len; done += 16) {
        for (int64_t r = done; r < done + 16; r++) row[r - done] = c->data + (order ? order[r] : from + r) * c->stride;
        for (int64_t at = 0;; at = smaller(at + wide, run - wide)) { /* the last two tiles overlap */
            if (wide == 16) transpose(row, at, 16, out + at * step + done, step);
            else transpose(row, at, 8, out + at * step + done, step);
            if (at + wide == run) break;
        }
    }
    return done;
}
#endif

/* Copies the rows order[0..len) of one column, or the rows from..from+len if order is NULL. */
static void copy_column(const column *c, const uint32_t *order, int64_t from, int64_t len, void *out) {
#define COPY(type)                                                                                                             \
    for (int64_t r = 0; r < len; r++) ((type *)out)[r] = *(const type *)(c->data + (order ? order[r] : from + r) * c->stride);
    BY_ITEM(c->item, COPY)
#undef COPY
}

/* Returns how many of the n columns starting at c are adjacent columns of one row-major matrix of bytes. */
static int64_t neighbours(const column *c, int64_t n) {
    int64_t k = 1;
    while (c->item == 1 && k < n && c[k].item == 1 && c[k].stride == c->stride && c[k].data == c->data + k) k++;
    return k;
}

/* Copies rows of n columns, column j to out + j * step; columns with item 0 are skipped. */
static void copy_rows(const column *c, int64_t n, const uint32_t *order, int64_t from, int64_t len, uint8_t *out,
                      int64_t step) {
    for (int64_t j = 0, run; j < n; j += run) {
        int64_t done = 0;
        run = neighbours(c + j, n - j);
#ifdef X86
        if (run >= 8) done = copy_tiles(c + j, run, order, from, len, out + j * step, step);
#endif
        for (int64_t k = j; k < j + run; k++)
            copy_column(c + k, order ? order + done : NULL, from + done, len - done, out + k * step + done * c[k].item);
    }
}

typedef struct {
    const column *columns;
    column *strided;       /* the columns in use that must be copied; item is 0 for the others */
    const uint8_t **codes; /* the first code of the block in each column; NULL if the column is not in use */
    uint8_t *gaps;         /* whether a column has a missing value in the block */
    uint8_t *buffer;
    int64_t n, step;
} block;

/* Allocates a block of `rows` rows for the columns of the families first..last. To release it, free `strided`, which is NULL
   if there was not enough memory. */
static block block_make(const column *columns, int64_t n, const layout *l, int64_t first, int64_t last, int64_t rows) {
    int64_t item = 0;
    for (int64_t j = 0; j < n; j++)
        if (columns[j].stride != columns[j].item) item = larger(item, columns[j].item);
    block b = {columns, calloc(n + 1, sizeof(column) + sizeof(void *) + 1 + rows * item), NULL, NULL, NULL, n, rows * item};
    if (!b.strided) return b;
    b.codes = (const uint8_t **)(b.strided + n);
    b.gaps = (uint8_t *)(b.codes + n);
    b.buffer = b.gaps + n;
    b.buffer += -(uintptr_t)b.buffer % sizeof(uint32_t);
    for (int64_t m = l->first[first]; m < l->first[last]; m++) {
        const int64_t j = l->members[m];
        b.codes[j] = columns[j].data;
        if (columns[j].stride != columns[j].item) b.strided[j] = columns[j];
    }
    return b;
}

/* Fills the block with the rows from..from+len. */
static void block_fill(block *b, int64_t from, int64_t len) {
    copy_rows(b->strided, b->n, NULL, from, len, b->buffer, b->step);
    for (int64_t j = 0; j < b->n; j++) {
        if (!b->codes[j]) continue;
        const column *c = b->columns + j;
        const uint8_t *x = b->codes[j] = b->strided[j].item ? b->buffer + j * b->step : c->data + from * c->stride;
        uint8_t any = 0;
#define SEEK(type) \
    for (int64_t r = 0; r < len; r++) any |= ((const type *)x)[r] == (type)-1;
        BY_ITEM(c->item, SEEK)
#undef SEEK
        b->gaps[j] = any;
    }
}

/* Computes the cells of the rows at..at+len of the block in the table of a family with the members first..last; NOWHERE if a
   member is missing. Returns whether a member has missing values in the block. */
INLINE int address_body(const block *b, const layout *l, int64_t first, int64_t last, int64_t at, int64_t len, uint32_t *cell) {
    int gaps = 0;
    if (first == last) memset(cell, 0, len * sizeof *cell);
    for (int64_t m = first; m < last; m++) {
        const int64_t j = l->members[m], item = b->columns[j].item;
        const uint32_t s = (uint32_t)l->strides[m];
        const uint8_t *x = b->codes[j] + at * item;
        gaps |= b->gaps[j];
#define ADD(type) \
    for (int64_t r = 0; r < len; r++) cell[r] = (m == first ? 0 : cell[r]) + s * ((const type *)x)[r];
        BY_ITEM(item, ADD)
#undef ADD
    }
    for (int64_t m = first; gaps && m < last; m++) {
        const int64_t j = l->members[m], item = b->columns[j].item;
        const uint8_t *x = b->codes[j] + at * item;
        if (!b->gaps[j]) continue;
#define DROP(type) \
    for (int64_t r = 0; r < len; r++) cell[r] = ((const type *)x)[r] == (type)-1 ? NOWHERE : cell[r];
        BY_ITEM(item, DROP)
#undef DROP
    }
    return gaps;
}

static int address_plain(const block *b, const layout *l, int64_t first, int64_t last, int64_t at, int64_t len, uint32_t *cell) {
    return address_body(b, l, first, last, at, len, cell);
}

#ifdef X86
TARGET("avx2")
static int address_avx2(const block *b, const layout *l, int64_t first, int64_t last, int64_t at, int64_t len, uint32_t *cell) {
    return address_body(b, l, first, last, at, len, cell);
}
#else
#define address_avx2 address_plain
#endif
typedef int addresses(const block *, const layout *, int64_t, int64_t, int64_t, int64_t, uint32_t *);
static addresses *best_address(void) { return level ? address_avx2 : address_plain; }

/* Adds up to STEP rows to a table. A small table is counted in four copies, so that consecutive rows with the same cell do not
   wait for each other's update. */
static void count(const uint32_t *cell, int64_t len, int gaps, const int64_t *weight, int64_t size, int64_t *table) {
    if (weight) {
        for (int64_t r = 0; r < len; r++)
            if (cell[r] != NOWHERE) table[cell[r]] += weight[r];
    } else if (gaps) {
        for (int64_t r = 0; r < len; r++)
            if (cell[r] != NOWHERE) table[cell[r]]++;
    } else if (size > SMALL || len < size) {
        for (int64_t r = 0; r < len; r++) table[cell[r]]++;
    } else {
        uint16_t copy[4][SMALL];
        int64_t r = 0;
        for (int k = 0; k < 4; k++) memset(copy[k], 0, size * sizeof **copy);
        for (; r + 4 <= len; r += 4)
            for (int k = 0; k < 4; k++) copy[k][cell[r + k]]++;
        for (; r < len; r++) copy[0][cell[r]]++;
        for (int64_t i = 0; i < size; i++) table[i] += (int64_t)copy[0][i] + copy[1][i] + copy[2][i] + copy[3][i];
    }
}

/* Adds the rows from..to to the tables of the families first..last, `rows` rows at a time. Returns 0 if there is not enough
   memory, else 1. */
API int naivete_scatter(const column *columns, int64_t n, const layout *l, int64_t first, int64_t last, int64_t from, int64_t to,
                        int64_t rows, const int64_t *weight, int64_t *tables) {
    uint32_t cell[STEP];
    block b = block_make(columns, n, l, first, last, rows);
    if (!b.strided) return 0;
    for (; from < to; from += rows) {
        const int64_t len = smaller(rows, to - from);
        block_fill(&b, from, len);
        for (int64_t f = first; f < last; f++)
            for (int64_t at = 0; at < len; at += STEP) {
                const int64_t part = smaller(STEP, len - at);
                const int gaps = best_address()(&b, l, l->first[f], l->first[f + 1], at, part, cell);
                count(cell, part, gaps, weight ? weight + from + at : NULL, l->sizes[f], tables + l->offsets[f]);
            }
    }
    free(b.strided);
    return 1;
}

/* Adds the values in the cells of the rows, one for each class, to the rows of the result. */
INLINE void add_values(const uint32_t *cell, int64_t len, int gaps, const double *values, int64_t classes, double *joint) {
    for (int64_t r = 0; r < len; r++) {
        if (gaps && cell[r] == NOWHERE) continue;
        for (int64_t c = 0; c < classes; c++) joint[r * classes + c] += values[cell[r] + c];
    }
}

/* Sums the values of the families, in their order, for the rows from..to. The members of the layout do not include the class.
   Returns 0 if there is not enough memory, else 1. */
API int naivete_gather(const column *columns, int64_t n, const layout *l, int64_t families, int64_t from, int64_t to,
                       int64_t rows, const double *values, int64_t classes, double *joint) {
    uint32_t cell[STEP];
    block b = block_make(columns, n, l, 0, families, rows);
    if (!b.strided) return 0;
    for (; from < to; from += rows) {
        const int64_t len = smaller(rows, to - from);
        double *out = joint + from * classes;
        block_fill(&b, from, len);
        memset(out, 0, len * classes * sizeof *out);
        for (int64_t f = 0; f < families; f++) {
            const double *v = values + l->offsets[f];
            const int gaps = best_address()(&b, l, l->first[f], l->first[f + 1], 0, len, cell);
            if (gaps) add_values(cell, len, 1, v, classes, out);
            else if (classes == 2) add_values(cell, len, 0, v, 2, out);
            else if (classes == 3) add_values(cell, len, 0, v, 3, out);
            else if (classes == 4) add_values(cell, len, 0, v, 4, out);
            else add_values(cell, len, 0, v, classes, out);
        }
    }
    free(b.strided);
    return 1;
}

/* Computes the probabilities of the classes from joint log-probabilities. */
API void naivete_posterior(const double *joint, int64_t rows, int64_t classes, double *out) {
    for (int64_t r = 0; r < rows; r++, joint += classes, out += classes) {
        double top = joint[0], total = 0.0;
        for (int64_t c = 1; c < classes; c++) top = joint[c] > top ? joint[c] : top;
        for (int64_t c = 0; c < classes; c++) total += out[c] = exp(joint[c] - top);
        for (int64_t c = 0; c < classes; c++) out[c] /= total;
    }
}

/* Computes log(sum(exp(values))) over the states of an array with axes (outer, state, inner), added in the order of the states;
   -inf if all are. */
API void naivete_log_sum_exp(const double *values, int64_t outer, int64_t states, int64_t inner, double *out) {
    for (int64_t o = 0; o < outer; o++, values += states * inner, out += inner) {
        for (int64_t i = 0; i < inner; i++) {
            double top = values[i], total = 0.0;
            for (int64_t s = 1; s < states; s++) top = values[s * inner + i] > top ? values[s * inner + i] : top;
            if (top == -INFINITY) {
                out[i] = top;
                continue;
            }
            for (int64_t s = 0; s < states; s++) total += exp(values[s * inner + i] - top);
            out[i] = log(total) + top;
        }
    }
}

/* Writes the rows from..to to `order`, those of a class starting at at[class], and advances at[class]; only advances if order is
   NULL. Rows without a label are treated as an additional class. */
API void naivete_class_order(const column *labels, int64_t from, int64_t to, int64_t classes, int64_t *at, uint32_t *order) {
    uint32_t copy[STEP];
    const void *x = copy;
    const uint32_t none = UINT32_MAX >> (32 - 8 * labels->item);
    for (; from < to; from += STEP) {
        const int64_t len = smaller(STEP, to - from);
        copy_column(labels, NULL, from, len, copy);
        for (int64_t r = 0; r < len; r++) {
            const uint32_t y = code(x, r, labels->item);
            const int64_t place = at[y == none ? classes : y]++;
            if (order) order[place] = (uint32_t)(from + r);
        }
    }
}

/* Returns a word in which bit k is set if byte k of 64 bytes equals the state. */
INLINE uint64_t equal_bits(const uint8_t *x, uint8_t state) {
    uint64_t bits = 0;
#ifdef X86
    const __m128i s = _mm_set1_epi8((char)state);
    for (int k = 0; k < 4; k++)
        bits |= (uint64_t)_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_loadu_si128((const __m128i *)(x + 16 * k)), s)) << (16 * k);
#else
    for (int k = 0; k < 64; k++) bits |= (uint64_t)(x[k] == state) << k;
#endif
    return bits;
}

/* Converts codes of two or four bytes to one byte in place; missing becomes 255. */
static void narrow(const column *c, void *codes, int64_t len) {
#define NARROW(type) \
    for (int64_t r = 0; r < len; r++) ((uint8_t *)codes)[r] = (uint8_t)((type *)codes)[r];
    BY_ITEM(c->item == 1 ? 0 : c->item, NARROW)
#undef NARROW
}

/* Packs `words` words of the planes of one column; bits after the first `len` codes are 0. */
static void pack_column(const column *c, void *codes, int64_t len, int64_t card, int gaps, uint64_t *plane, int64_t width,
                        int64_t words) {
    if (card <= FEW) {
        uint8_t *x = codes;
        narrow(c, codes, len);
        memset(x + len, UINT8_MAX, words * 64 - len);
        for (int64_t s = 1; s < card; s++, plane += width)
            for (int64_t w = 0; w < words; w++) plane[w] = equal_bits(x + 64 * w, (uint8_t)s);
        for (int64_t w = 0; gaps && w < words; w++) plane[w] = ~equal_bits(x + 64 * w, UINT8_MAX);
        return;
    }
    const uint32_t none = UINT32_MAX >> (32 - 8 * c->item);
    for (int64_t s = 0; s < card - 1 + gaps; s++) memset(plane + s * width, 0, words * sizeof *plane);
    for (int64_t r = 0; r < len; r++) {
        const uint32_t x = code(codes, r, c->item);
        const uint64_t bit = (uint64_t)1 << (r & 63);
        if (x == none) continue;
        if (x) plane[(x - 1) * width + (r >> 6)] |= bit;
        if (gaps) plane[(card - 1) * width + (r >> 6)] |= bit;
    }
}

/* Packs the words from..to of all planes of n columns; `order` lists the rows, grouped by class. Returns 0 if there is not
   enough memory, else 1. */
API int naivete_pack(const column *columns, int64_t n, const int64_t *cards, const uint8_t *gaps, const int64_t *first,
                     const uint32_t *order, const bitmaps *b, int64_t from, int64_t to) {
    uint8_t *codes = malloc((int64_t)GROUP * CHUNK * sizeof(uint32_t));
    if (!codes) return 0;
    for (int64_t k = 0; k < b->classes; order += b->counts[k++]) {
        const int64_t end = smaller(to, b->bounds[k + 1]);
        for (int64_t w = larger(from, b->bounds[k]); w < end; w += CHUNK / 64) {
            const int64_t words = smaller(CHUNK / 64, end - w), row = (w - b->bounds[k]) * 64;
            const int64_t len = larger(0, smaller(words * 64, b->counts[k] - row));
            for (int64_t j = 0; j < n; j += GROUP) {
                const int64_t some = smaller(GROUP, n - j), step = CHUNK * sizeof(uint32_t);
                copy_rows(columns + j, some, order + row, 0, len, codes, step);
                for (int64_t i = j; i < j + some; i++)
                    pack_column(columns + i, codes + (i - j) * step, len, cards[i], gaps[i], b->words + first[i] * b->width + w,
                                b->width, words);
            }
        }
    }
    free(codes);
    return 1;
}

/* Counts the set bits that each of four planes a shares with each of four planes b in `len` words, a multiple of eight. */
static void tile_plain(const uint64_t *const *a, const uint64_t *const *b, int64_t len, int64_t *sums) {
    memset(sums, 0, 16 * sizeof *sums);
    for (int64_t w = 0; w < len; w++)
        for (int k = 0; k < 16; k++) sums[k] += __builtin_popcountll(a[k / 4][w] & b[k % 4][w]);
}

#ifdef X86
/* The same with AVX2: the bits of each half byte are counted by a table lookup. Two planes of a are processed at a time, so that
   all accumulators fit into registers. */
TARGET("avx2")
static void tile_avx2(const uint64_t *const *a, const uint64_t *const *b, int64_t len, int64_t *sums) {
    const __m256i ones = _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4));
    const __m256i low = _mm256_set1_epi8(15), zero = _mm256_setzero_si256();
    for (int i = 0; i < 4; i += 2) {
        __m256i s[8] = {zero, zero, zero, zero, zero, zero, zero, zero};
        for (int64_t w = 0; w < len; w += 4)
            for (int k = 0; k < 8; k++) {
                const __m256i x = _mm256_loadu_si256((const __m256i *)(a[i + k / 4] + w));
                const __m256i y = _mm256_and_si256(x, _mm256_loadu_si256((const __m256i *)(b[k % 4] + w)));
                const __m256i lo = _mm256_shuffle_epi8(ones, _mm256_and_si256(y, low));
                const __m256i hi = _mm256_shuffle_epi8(ones, _mm256_and_si256(_mm256_srli_epi64(y, 4), low));
                s[k] = _mm256_add_epi64(s[k], _mm256_sad_epu8(_mm256_add_epi8(lo, hi), zero));
            }
        for (int k = 0; k < 8; k++) {
            int64_t part[4];
            _mm256_storeu_si256((__m256i *)part, s[k]);
            sums[4 * i + k] = part[0] + part[1] + part[2] + part[3];
        }
    }
}

/* The same with the AVX-512 instruction that counts the set bits of eight words. */
TARGET("avx512f,avx512vpopcntdq")
static void tile_avx512(const uint64_t *const *a, const uint64_t *const *b, int64_t len, int64_t *sums) {
    __m512i s[16];
    for (int k = 0; k < 16; k++) s[k] = _mm512_setzero_si512();
    for (int64_t w = 0; w < len; w += 8) {
        __m512i y[4];
        for (int j = 0; j < 4; j++) y[j] = _mm512_loadu_si512(b[j] + w);
        for (int i = 0; i < 4; i++) {
            const __m512i x = _mm512_loadu_si512(a[i] + w);
            for (int j = 0; j < 4; j++)
                s[4 * i + j] = _mm512_add_epi64(s[4 * i + j], _mm512_popcnt_epi64(_mm512_and_si512(x, y[j])));
        }
    }
    for (int k = 0; k < 16; k++) sums[k] = _mm512_reduce_add_epi64(s[k]);
}
#else
#define tile_avx2 tile_plain
#define tile_avx512 tile_plain
#endif

typedef void tiles(const uint64_t *const *, const uint64_t *const *, int64_t, int64_t *);
static tiles *best_tile(void) { return level > 1 ? tile_avx512 : level ? tile_avx2 : tile_plain; }

/* Counts the set bits that the planes row..row_end share with the planes column..column_end in the words from..to, and adds them
   to the result (class, row, column); tiles below the diagonal are skipped. */
API void naivete_gram(const bitmaps *b, int64_t row, int64_t row_end, int64_t column, int64_t column_end, int64_t from,
                      int64_t to, int32_t *result, int64_t class_step, int64_t row_step) {
    tiles *const tile = best_tile();
    const uint64_t *x[4], *y[4];
    int64_t sums[16];
    for (int64_t k = 0; k < b->classes; k++) {
        const int64_t end = smaller(to, b->bounds[k + 1]);
        for (int64_t w = larger(from, b->bounds[k]); w < end; w += WORDS)
            for (int64_t i = row; i < row_end; i += 4) {
                for (int t = 0; t < 4; t++) x[t] = b->words + smaller(i + t, row_end - 1) * b->width + w;
                for (int64_t j = column + larger(0, i - column) / 4 * 4; j < column_end; j += 4) {
                    for (int t = 0; t < 4; t++) y[t] = b->words + smaller(j + t, column_end - 1) * b->width + w;
                    tile(x, y, smaller(WORDS, end - w), sums);
                    for (int64_t s = 0; s < smaller(4, row_end - i); s++)
                        for (int64_t t = 0; t < smaller(4, column_end - j); t++)
                            result[k * class_step + (i + s - row) * row_step + j + t - column] += (int32_t)sums[4 * s + t];
                }
            }
    }
}

/* Counts the set bits of the planes first..last in each class; the result is (class, plane) with `planes` planes, the diagonal of
   the result of naivete_gram. */
API void naivete_margins(const bitmaps *b, int64_t first, int64_t last, int64_t planes, int64_t *result) {
    const uint64_t *x[4];
    int64_t sums[16];
    for (int64_t p = first; p < last; p += 4)
        for (int64_t k = 0; k < b->classes; k++) {
            for (int64_t t = 0; t < 4; t++) x[t] = b->words + smaller(p + t, last - 1) * b->width + b->bounds[k];
            best_tile()(x, x, b->bounds[k + 1] - b->bounds[k], sums);
            for (int64_t t = 0; t < smaller(4, last - p); t++) result[k * planes + p + t] = sums[5 * t];
        }
}

/* Writes the entries of the rows from..to, those of a plane and class starting at at[plane][class], and advances that position;
   only advances if rows is NULL. Rows without a label are skipped. */
API void naivete_sparse_columns(const int64_t *starts, const int32_t *members, const column *labels, int64_t from, int64_t to,
                                int64_t classes, int64_t *at, int32_t *rows, int64_t *places) {
    uint32_t copy[STEP];
    const uint32_t none = UINT32_MAX >> (32 - 8 * labels->item);
    for (; from < to; from += STEP) {
        const int64_t len = smaller(STEP, to - from);
        copy_column(labels, NULL, from, len, copy);
        for (int64_t r = 0; r < len; r++) {
            const uint32_t y = code(copy, r, labels->item);
            for (int64_t e = starts[from + r]; y != none && e < starts[from + r + 1]; e++) {
                const int64_t place = at[members[e] * classes + y]++;
                if (!rows) continue;
                rows[place] = (int32_t)(from + r);
                places[place] = e;
            }
        }
    }
}

/* Returns the index of the first of the increasing members lo..hi that is at least the plane, hi if there is none. */
INLINE int64_t not_below(const int32_t *members, int64_t lo, int64_t hi, int64_t plane) {
    if (lo < hi && members[hi - 1] < plane) return hi;
    while (lo < hi) {
        const int64_t middle = lo + (hi - lo) / 2;
        if (members[middle] < plane) lo = middle + 1;
        else hi = middle;
    }
    return lo;
}

/* Adds the number of rows of each class that the planes row..row_end share with the planes column..column_end to the result
   (class, row, column); pairs whose second plane precedes the first are skipped. */
API void naivete_sparse_gram(const incidences *s, int64_t row, int64_t row_end, int64_t column, int64_t column_end,
                             int32_t *result, int64_t class_step, int64_t row_step) {
    for (int64_t i = row; i < row_end; i++, result += row_step)
        for (int64_t k = 0; k < s->classes; k++) {
            int32_t *out = result + k * class_step;
            const int64_t last = s->column_starts[i * s->classes + k + 1];
            for (int64_t e = s->column_starts[i * s->classes + k]; e < last; e++) {
                int64_t m = s->column_places[e], end = s->starts[s->column_rows[e] + 1];
                if (e + AHEAD < last) __builtin_prefetch(s->members + s->column_places[e + AHEAD]);
                if (i < column) m = not_below(s->members, m, end, column);
                end = not_below(s->members, m, end, column_end);
                for (; m < end; m++) out[s->members[m] - column]++;
            }
        }
}

/* Marks the values that occur. Usually all of them, except 255, are below the first value not seen yet, and nothing is written. */
static void see(const uint8_t *x, int64_t len, uint8_t *seen) {
    uint8_t known = 0, top = 0, last = seen[255];
    while (known < 255 && seen[known]) known++;
    for (int64_t r = 0; r < len; r++) {
        const uint8_t next = (uint8_t)(x[r] + 1); /* 0 for 255 */
        top = next > top ? next : top;
        last |= next == 0;
    }
    if (top <= known && last == seen[255]) return;
    for (int64_t r = 0; r < len; r++) seen[x[r]] = 1;
}

/* Marks in seen (column, 256) the values that occur in the rows from..to of n byte columns. Returns 0 if there is not enough
   memory, else 1. */
API int naivete_seen(const column *columns, int64_t n, int64_t from, int64_t to, uint8_t *seen) {
    uint8_t *codes = malloc(GROUP * CHUNK);
    if (!codes) return 0;
    for (; from < to; from += CHUNK) {
        const int64_t len = smaller(CHUNK, to - from);
        for (int64_t j = 0; j < n; j += GROUP) {
            const int64_t some = smaller(GROUP, n - j);
            copy_rows(columns + j, some, NULL, from, len, codes, CHUNK);
            for (int64_t i = 0; i < some; i++) see(codes + i * CHUNK, len, seen + (j + i) * 256);
        }
    }
    free(codes);
    return 1;
}

/* Moves the rows from..to down a tree from their current nodes until they reach a leaf or a node whose column is missing. A node
   is three numbers: the column of its test (negative at a leaf), the last code of its first branch (negative if every code has
   its own branch), and its first child. Several rows descend in one batch, which hides the latency of memory. */
API void naivete_descend(const column *columns, const int64_t *nodes, int64_t from, int64_t to, int64_t *at) {
    for (; from < to; from += TOGETHER) {
        int64_t going[TOGETHER], left = smaller(TOGETHER, to - from);
        for (int64_t k = 0; k < left; k++) going[k] = from + k;
        while (left) {
            int64_t still = 0;
            for (int64_t k = 0; k < left; k++) {
                const int64_t r = going[k], *node = nodes + 3 * at[r];
                if (node[0] < 0) continue;
                const column *c = columns + node[0];
                const uint32_t x = code(c->data + r * c->stride, 0, c->item);
                if (x == UINT32_MAX >> (32 - 8 * c->item)) continue;
                at[r] = node[2] + (node[1] < 0 ? (int64_t)x : (int64_t)x > node[1]);
                going[still++] = r;
            }
            left = still;
        }
    }
}
