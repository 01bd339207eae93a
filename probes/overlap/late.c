/* A receiver that is late: it computes before it posts its receive. How long a blocking send takes
 * then tells eager from rendezvous: an eager send leaves its data and returns, a rendezvous waits
 * for the receive. With pieces of work the library is asked between them, as receivers must be that
 * are to give back a fragment before they know what it is. Communication alone is the same with a
 * receiver in time. The work begins after the word of the sender, whose time begins before it: a
 * send that waits is never short because the sender was late itself. */
#include "overlap/bench.h"

static int64_t active(const struct pl_exchange *exchange)
{
    int64_t begin = exchange->clock->now_ns();
    pl_signal(exchange, PL_TAG_READY);
    pl_send(exchange, exchange->out, exchange->peer);
    int64_t ns = exchange->clock->now_ns() - begin;
    pl_signal(exchange, PL_TAG_DONE);
    return ns;
}

static void passive(const struct pl_exchange *exchange)
{
    MPI_Request *done = &exchange->pending[exchange->requests];
    pl_await(exchange, PL_TAG_READY);
    PMPI_Irecv(NULL, 0, MPI_BYTE, exchange->peer, PL_TAG_DONE, exchange->comm, done);
    if (exchange->part == PL_PART_BOTH)
        pl_compute(exchange, done, 1);
    pl_irecv(exchange, exchange->in, exchange->peer, exchange->pending);
    pl_wait(exchange, exchange->pending, exchange->requests);
    PMPI_Wait(done, MPI_STATUS_IGNORE);
}

const struct pl_bench pl_overlap_late = {
    .name = "late",
    .summary = "a blocking send to a receiver that computes before it posts its receive",
    .halves = 1,
    .to_passive = true,
    .active = active,
    .passive = passive,
};
