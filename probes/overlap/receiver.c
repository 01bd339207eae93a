/* Receiver-side overlap: Irecv, the word that it is posted, computation, Wait. */
#include "overlap/bench.h"

static int64_t active(const struct pl_round *round)
{
    int64_t begin = round->clock->now_ns();
    pl_receive_beside(round, round->part == PL_PART_BOTH);
    return round->clock->now_ns() - begin;
}

static void passive(const struct pl_round *round)
{
    pl_await(round, PL_TAG_READY);
    pl_send(round, round->out, round->peer);
}

const struct pl_bench pl_overlap_receiver = {
    .name = "receiver",
    .summary = "the receiver computes between Irecv and Wait",
    .latencies = 1,
    .halves = 1,
    .to_active = true,
    .active = active,
    .passive = passive,
};
