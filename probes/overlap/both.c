/* Overlap on both sides: to and fro, both ranks compute beside each message. */
#include "overlap/bench.h"

static int64_t active(const struct pl_exchange *exchange)
{
    pl_await(exchange, PL_TAG_READY);
    int64_t begin = exchange->clock->now_ns();
    pl_send_beside(exchange);
    pl_receive_beside(exchange, exchange->part == PL_PART_BOTH);
    return exchange->clock->now_ns() - begin;
}

static void passive(const struct pl_exchange *exchange)
{
    pl_receive_beside(exchange, exchange->part == PL_PART_BOTH);
    pl_await(exchange, PL_TAG_READY);
    pl_send_beside(exchange);
}

const struct pl_bench pl_overlap_both = {
    .name = "both",
    .summary = "both compute beside a message to and one fro; half of it",
    .latencies = 1,
    .halves = 2,
    .to_active = true,
    .to_passive = true,
    .active = active,
    .passive = passive,
};
