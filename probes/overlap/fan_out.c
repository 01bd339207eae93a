/* Sender-side overlap with all peers: Isends to every other rank, computation, Waitall, and their
 * words that the data have come. Communication alone is the same without computation: blocking
 * calls would serve one peer after the other. */
#include "overlap/sender.h"

static int64_t active(const struct pl_exchange *exchange)
{
    const int count = (exchange->size - 1) * exchange->requests;
    for (int rank = 1; rank < exchange->size; rank++)
        pl_await_from(exchange, rank, PL_TAG_READY);
    int64_t begin = exchange->clock->now_ns();
    for (int rank = 1; rank < exchange->size; rank++)
        pl_isend(exchange, pl_block_of(exchange, exchange->out, rank), rank,
                 &exchange->pending[(rank - 1) * exchange->requests]);
    if (exchange->part == PL_PART_BOTH)
        pl_compute(exchange, exchange->pending, count);
    pl_wait(exchange, exchange->pending, count);
    for (int rank = 1; rank < exchange->size; rank++)
        pl_await_from(exchange, rank, PL_TAG_DONE);
    return exchange->clock->now_ns() - begin;
}

const struct pl_bench pl_overlap_fan_out = {
    .name = "fan_out",
    .summary = "rank 0 computes between Isends to all others and Waitall; until all have the data",
    .players = PL_ONE_ACTIVE,
    .latencies = 1,
    .halves = 1,
    .in_blocks = true,
    .to_passive = true,
    .active = active,
    .passive = pl_sender_passive,
};
