/* Receiver-side overlap with all peers: Irecvs from every other rank, the word to each that they
 * are posted, computation, Waitall. */
#include "overlap/bench.h"

static int64_t active(const struct pl_exchange *exchange)
{
    const int count = (exchange->size - 1) * exchange->requests;
    int64_t begin = exchange->clock->now_ns();
    for (int rank = 1; rank < exchange->size; rank++)
        pl_irecv(exchange, pl_block_of(exchange, exchange->in, rank), rank,
                 &exchange->pending[(rank - 1) * exchange->requests]);
    for (int rank = 1; rank < exchange->size; rank++)
        pl_signal_to(exchange, rank, PL_TAG_READY);
    if (exchange->part == PL_PART_BOTH)
        pl_compute(exchange, exchange->pending, count);
    pl_wait(exchange, exchange->pending, count);
    return exchange->clock->now_ns() - begin;
}

static void passive(const struct pl_exchange *exchange)
{
    pl_await(exchange, PL_TAG_READY);
    pl_send(exchange, exchange->out, exchange->peer);
}

const struct pl_bench pl_overlap_fan_in = {
    .name = "fan_in",
    .summary = "rank 0 computes between Irecvs from all others and Waitall",
    .players = PL_ONE_ACTIVE,
    .latencies = 1,
    .halves = 1,
    .in_blocks = true,
    .to_active = true,
    .active = active,
    .passive = passive,
};
