/* What the sender's processor spends on a message: Isend, computation, Wait, and no word from the
 * other side. */
#include "overlap/bench.h"

static int64_t active(const struct pl_exchange *exchange)
{
    pl_await(exchange, PL_TAG_READY);
    int64_t begin = exchange->clock->now_ns();
    pl_send_beside(exchange);
    return exchange->clock->now_ns() - begin;
}

static void passive(const struct pl_exchange *exchange)
{
    pl_receive_beside(exchange, false);
}

const struct pl_bench pl_overlap_overhead = {
    .name = "overhead",
    .summary = "the sender computes between Isend and Wait; until its call returns",
    .halves = 1,
    .to_passive = true,
    .active = active,
    .passive = passive,
};
