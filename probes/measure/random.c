/* Streams, bounded numbers and permutations on top of splitmix64. */
#include "measure/random.h"

struct pl_random pl_random_stream(uint64_t seed, uint64_t a, uint64_t b)
{
    /* Each step hashes what came before, so that (a, b) and (b, a) are different streams. */
    struct pl_random random = {seed};
    random.state = pl_random_next(&random) ^ a;
    random.state = pl_random_next(&random) ^ b;
    random.state = pl_random_next(&random);
    return random;
}

uint64_t pl_random_below(struct pl_random *random, uint64_t bound)
{
    /* The numbers under `threshold` = 2^64 mod bound are the ones that would be drawn too often. */
    uint64_t threshold = (0 - bound) % bound;
    uint64_t number;
    do
        number = pl_random_next(random);
    while (number < threshold);
    return number % bound;
}

void pl_random_shuffle(struct pl_random *random, int *items, int count)
{
    for (int i = count - 1; i > 0; i--) {
        int j = (int)pl_random_below(random, (uint64_t)i + 1);
        int item = items[i];
        items[i] = items[j];
        items[j] = item;
    }
}
