/* Sender-side overlap: Isend, computation, Wait, and the word that the data have come. */
#include "overlap/sender.h"

int64_t pl_sender_active(const struct pl_exchange *exchange)
{
    pl_await(exchange, PL_TAG_READY);
    int64_t begin = exchange->clock->now_ns();
    pl_send_beside(exchange);
    pl_await(exchange, PL_TAG_DONE);
    return exchange->clock->now_ns() - begin;
}

void pl_sender_passive(const struct pl_exchange *exchange)
{
    pl_receive_beside(exchange, false);
    pl_signal(exchange, PL_TAG_DONE);
}

const struct pl_bench pl_overlap_sender = {
    .name = "sender",
    .summary = "the sender computes between Isend and Wait; until the receiver has the data",
    .latencies = 1,
    .halves = 1,
    .to_passive = true,
    .active = pl_sender_active,
    .passive = pl_sender_passive,
};
