/* Receiver-side overlap: Irecv, the word that it is posted, computation, Wait. */
#include "overlap/bench.h"

static int64_t active(const struct pl_exchange *exchange)
{
    int64_t begin = exchange->clock->now_ns();
    pl_receive_beside(exchange, exchange->part == PL_PART_BOTH);
    return exchange->clock->now_ns() - begin;
}

static void passive(const struct pl_exchange *exchange)
{
    pl_await(exchange, PL_TAG_READY);
    pl_send(exchange, exchange->out, exchange->peer);
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
