/* Polynomials of contents, as detect/kinds.py defines them. */
#ifndef PL_DETECTION_POLY_H
#define PL_DETECTION_POLY_H

#include <stdint.h>

#define PL_POLY_PRIME ((INT64_C(1) << 61) - 1)
#define PL_POLY_BASE INT64_C(0x0A3F51C97E82B46D)

static inline int64_t pl_poly_times(int64_t left, int64_t right)
{
    return (int64_t)((unsigned __int128)left * (unsigned __int128)right %
                     (unsigned __int128)PL_POLY_PRIME);
}

/* The polynomial of one content behind another, of so many values. */
static inline int64_t pl_poly_joined(int64_t left, int64_t left_values, int64_t right)
{
    int64_t power = 1;
    for (int64_t base = PL_POLY_BASE, rest = left_values; rest; rest >>= 1) {
        if (rest & 1)
            power = pl_poly_times(power, base);
        base = pl_poly_times(base, base);
    }
    return (left + pl_poly_times(power, right)) % PL_POLY_PRIME;
}

#endif
