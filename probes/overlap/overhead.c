/* What the sender's processor spends on a message: Isend, computation, Wait, and no word from the
 * other side. */
#include "overlap/bench.h"

static int64_t active(const struct pl_round *round)
{
    pl_await(round, PL_TAG_READY);
    int64_t begin = round->clock->now_ns();
    pl_send_beside(round);
    return round->clock->now_ns() - begin;
}

static void passive(const struct pl_round *round)
{
    pl_receive_beside(round, false);
}

const struct pl_bench pl_overlap_overhead = {
    .name = "overhead",
    .summary = "the sender computes between Isend and Wait; until its call returns",
    .halves = 1,
    .to_passive = true,
    .active = active,
    .passive = passive,
};
