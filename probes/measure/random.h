/* Random numbers that are the same on every rank and every machine: splitmix64 (Steele, Lea and
 * Flood, Fast splittable pseudorandom number generators, OOPSLA 2014). One multiplication chain a
 * number; any 64-bit state is a good one. */
#ifndef PL_RANDOM_H
#define PL_RANDOM_H

#include <stdint.h>

struct pl_random {
    uint64_t state;
};

static inline uint64_t pl_random_next(struct pl_random *random)
{
    uint64_t z = (random->state += UINT64_C(0x9E3779B97F4A7C15));
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

/* A generator for the stream (a, b) of a seed: equal arguments, equal numbers. */
struct pl_random pl_random_stream(uint64_t seed, uint64_t a, uint64_t b);

/* Uniform in [0, bound), bound > 0, without modulo bias. */
uint64_t pl_random_below(struct pl_random *random, uint64_t bound);

/* Uniform in [0, 1). */
static inline double pl_random_unit(struct pl_random *random)
{
    return (double)(pl_random_next(random) >> 11) * 0x1p-53;
}

/* A uniformly random permutation of `items` in place: Fisher and Yates, as Durstenfeld wrote it
 * (Algorithm 235, CACM 7, 1964). */
void pl_random_shuffle(struct pl_random *random, int *items, int count);

#endif
