/* Sender-side overlap with all peers: Isends to every other rank, computation, Waitall, and their
 * words that the data have come. Communication alone is the same without computation: blocking
 * calls would serve one peer after the other. */
#include "overlap/sender.h"

static int64_t active(const struct pl_round *round)
{
    const int count = (round->size - 1) * round->requests;
    for (int rank = 1; rank < round->size; rank++)
        pl_await_from(round, rank, PL_TAG_READY);
    int64_t begin = round->clock->now_ns();
    for (int rank = 1; rank < round->size; rank++)
        pl_isend(round, pl_block_of(round, round->out, rank), rank,
                 &round->pending[(rank - 1) * round->requests]);
    if (round->part == PL_PART_BOTH)
        pl_compute(round, round->pending, count);
    pl_wait(round, round->pending, count);
    for (int rank = 1; rank < round->size; rank++)
        pl_await_from(round, rank, PL_TAG_DONE);
    return round->clock->now_ns() - begin;
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
