/* Receiver-side overlap with all peers: Irecvs from every other rank, the word to each that they
 * are posted, computation, Waitall. */
#include "overlap/bench.h"

static int64_t active(const struct pl_round *round)
{
    const int count = (round->size - 1) * round->requests;
    int64_t begin = round->clock->now_ns();
    for (int rank = 1; rank < round->size; rank++)
        pl_irecv(round, pl_block_of(round, round->in, rank), rank,
                 &round->pending[(rank - 1) * round->requests]);
    for (int rank = 1; rank < round->size; rank++)
        pl_signal_to(round, rank, PL_TAG_READY);
    if (round->part == PL_PART_BOTH)
        pl_compute(round, round->pending, count);
    pl_wait(round, round->pending, count);
    return round->clock->now_ns() - begin;
}

static void passive(const struct pl_round *round)
{
    pl_await(round, PL_TAG_READY);
    pl_send(round, round->out, round->peer);
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
