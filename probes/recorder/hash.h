/* What is computed of a content: as tuner/plumbline/detect/kinds.py defines it. */
#ifndef PL_RECORDER_HASH_H
#define PL_RECORDER_HASH_H

#include "event.h"

#include <stddef.h>

/* Fills content, poly, sketch and payload or extremes of a slot whose `element` is set. */
typedef void pl_hash_function(struct pl_slot *slot, const void *content, size_t bytes);
extern pl_hash_function *pl_hash; /* the faster one of those that this processor can run */
pl_hash_function pl_hash_plainly, pl_hash_by_avx2;

/* a * b and a + b modulo 2^61 - 1, of numbers below it. */
enum { PL_PRIME_BITS = 61 };
#define PL_PRIME ((UINT64_C(1) << PL_PRIME_BITS) - 1)

static inline uint64_t pl_reduce(unsigned __int128 number)
{
    uint64_t low = ((uint64_t)number & PL_PRIME) + ((uint64_t)(number >> 61) & PL_PRIME) +
                   (uint64_t)(number >> 122);
    low = (low & PL_PRIME) + (low >> 61);
    return low >= PL_PRIME ? low - PL_PRIME : low;
}

static inline uint64_t pl_times(uint64_t a, uint64_t b)
{
    return pl_reduce((unsigned __int128)a * b);
}

static inline uint64_t pl_plus(uint64_t a, uint64_t b)
{
    const uint64_t sum = a + b;
    return sum >= PL_PRIME ? sum - PL_PRIME : sum;
}

/* SplitMix64. */
static inline uint64_t pl_mix(uint64_t number)
{
    number += UINT64_C(0x9E3779B97F4A7C15);
    number = (number ^ (number >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    number = (number ^ (number >> 27)) * UINT64_C(0x94D049BB133111EB);
    return number ^ (number >> 31);
}

#endif
