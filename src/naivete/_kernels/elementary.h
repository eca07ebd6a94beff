/* Exponentials and logarithms of many numbers, and functions that are compiled for several instruction sets.

   Compilers turn loops that call exp_of and log_of into vector instructions. Their results are the same on every processor: they
   consist of operations that IEEE 754 defines, in a fixed order. Relative errors are below 2^-51. */

#ifndef NAIVETE_ELEMENTARY_H
#define NAIVETE_ELEMENTARY_H

#include <stdint.h>
#include <string.h>

#include "columns.h"

/* e^x for x up to 709; numbers below -708 count as -708. */
INLINE double exp_of(double x) {
    static const double round = 0x1.8p52; /* its sum with a number has the nearest integer in its last bits */
    x = x > -708.0 ? x : -708.0;
    const double shifted = x * 1.44269504088896340736 + round, k = shifted - round;
    const double r = (x - k * 6.93147180369123816490e-01) - k * 1.90821492927058770002e-10;
    double p = 1.6059043836821613e-10; /* 1 / 13! */
    p = p * r + 2.08767569878681e-09;
    p = p * r + 2.505210838544172e-08;
    p = p * r + 2.755731922398589e-07;
    p = p * r + 2.7557319223985893e-06;
    p = p * r + 2.48015873015873e-05;
    p = p * r + 1.984126984126984e-04;
    p = p * r + 1.388888888888889e-03;
    p = p * r + 8.333333333333333e-03;
    p = p * r + 4.1666666666666664e-02;
    p = p * r + 1.6666666666666666e-01;
    p = p * r + 0.5;
    p = p * r * r + r + 1.0;
    uint64_t bits;
    memcpy(&bits, &shifted, 8);
    bits = (bits + 1023) << 52;
    double scale;
    memcpy(&scale, &bits, 8);
    return p * scale;
}

/* The natural logarithm of a positive number that is not subnormal (fdlibm's algorithm). */
INLINE double log_of(double x) {
    uint64_t bits;
    memcpy(&bits, &x, 8);
    bits += 0x3FF0000000000000ull - 0x3FE6A09E00000000ull; /* mantissas from sqrt(1/2) to sqrt(2) */
    const uint64_t exponent = (bits >> 52) | 0x4330000000000000ull;
    bits = (bits & 0x000FFFFFFFFFFFFFull) + 0x3FE6A09E00000000ull;
    double m, k;
    memcpy(&m, &bits, 8);
    memcpy(&k, &exponent, 8);
    k -= 0x1p52 + 1023;
    const double f = m - 1.0, s = f / (2.0 + f), z = s * s, w = z * z, half = 0.5 * f * f;
    const double odd = w * (3.999999999940941908e-01 + w * (2.222219843214978396e-01 + w * 1.531383769920937332e-01));
    const double even =
        z * (6.666666666666735130e-01 + w * (2.857142874366239149e-01 + w * (1.818357216161805012e-01 + w * 1.479819860511658591e-01)));
    return k * 6.93147180369123816490e-01 - ((half - (s * (half + (odd + even)) + k * 1.90821492927058770002e-10)) - f);
}

/* The instruction set in use: 0 the baseline of the architecture, 1 AVX2, 2 AVX-512. */
int instruction_set(void);

/* Defines the function `name` from the inline function `name`_body, compiled for each instruction set; the results are equal. */
#if !defined(PLAIN) && defined(__x86_64__)
#define BY_INSTRUCTION_SET(type, name, parameters, arguments)                                                             \
    __attribute__((target("avx512f"))) static type name##_avx512 parameters { return name##_body arguments; }             \
    __attribute__((target("avx2"))) static type name##_avx2 parameters { return name##_body arguments; }                  \
    static type name##_plain parameters { return name##_body arguments; }                                                 \
    static type name parameters {                                                                                         \
        const int set = instruction_set();                                                                                \
        return set == 2 ? name##_avx512 arguments : set == 1 ? name##_avx2 arguments : name##_plain arguments;            \
    }
#else
#define BY_INSTRUCTION_SET(type, name, parameters, arguments) \
    static type name parameters { return name##_body arguments; }
#endif

#endif
