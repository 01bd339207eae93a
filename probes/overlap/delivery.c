#include "overlap/delivery.h"

#include "measure/random.h"
#include "overlap/layout.h"

#include <string.h>

int pl_delivery_blocks(const struct pl_bench *bench, int rank, int size)
{
    return bench->in_blocks && rank == 0 ? size : 1;
}

/* Whether a block goes from one rank to the other. */
static bool goes(const struct pl_bench *bench, int from, int to, int size)
{
    if (bench->players == PL_ALL_ACTIVE)
        return bench->to_active && to == (from + 1) % size;
    const int passive = bench->players == PL_PAIR ? size - 1 : 1; /* from this rank on */
    return (bench->to_passive && from == 0 && to >= passive) ||
           (bench->to_active && from >= passive && to == 0);
}

/* The stream of bytes from one rank to the other. */
static uint64_t stream(const struct pl_exchange *exchange, int from, int to)
{
    struct pl_random random = pl_random_stream(exchange->seed, (uint64_t)from, (uint64_t)to);
    return pl_random_next(&random);
}

/* Where the block to or from `rank` lies. */
static char *place(const struct pl_bench *bench, const struct pl_exchange *exchange, char *blocks,
                   int rank)
{
    bool several = pl_delivery_blocks(bench, exchange->rank, exchange->size) > 1;
    return several ? pl_block_of(exchange, blocks, rank) : blocks;
}

void pl_delivery_fill(const struct pl_bench *bench, const struct pl_exchange *exchange)
{
    const size_t bytes = pl_block_extent(exchange);
    const int blocks = pl_delivery_blocks(bench, exchange->rank, exchange->size);
    memset(exchange->in, 0, bytes * (size_t)blocks);
    for (int to = 0; to < exchange->size; to++)
        if (goes(bench, exchange->rank, to, exchange->size))
            pl_layout_fill(bench->layout, place(bench, exchange, exchange->out, to), bytes,
                           stream(exchange, exchange->rank, to));
}

bool pl_delivery_holds(const struct pl_bench *bench, const struct pl_exchange *exchange)
{
    for (int from = 0; from < exchange->size; from++)
        if (goes(bench, from, exchange->rank, exchange->size) &&
            !pl_layout_holds(bench->layout, place(bench, exchange, exchange->in, from),
                             pl_block_extent(exchange), stream(exchange, from, exchange->rank)))
            return false;
    return true;
}
