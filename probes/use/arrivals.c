#include "use/arrivals.h"

#include "measure/random.h"

int64_t pl_arrivals_offset(const struct pl_arrivals *arrivals, int64_t apart_ns, uint64_t seed,
                           uint64_t turn, int rank, int size)
{
    struct pl_random random = pl_random_stream(seed, UINT64_MAX - 3, turn);
    switch (arrivals->kind) {
    case PL_ARRIVALS_ONE:
        return pl_random_below(&random, (uint64_t)size) == (uint64_t)rank ? apart_ns : 0;
    case PL_ARRIVALS_UNIFORM:
        random = pl_random_stream(pl_random_next(&random), (uint64_t)rank, 0);
        return (int64_t)pl_random_below(&random, (uint64_t)apart_ns + 1);
    case PL_ARRIVALS_LIST:
        return arrivals->list[rank];
    }
    return 0;
}
