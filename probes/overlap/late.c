/* A receiver that is late: it computes before it posts its receive. How long a blocking send takes
 * then tells eager from rendezvous: an eager send leaves its data and returns, a rendezvous waits
 * for the receive. With pieces of work the library is asked between them, as receivers must be that
 * are to give back a fragment before they know what it is. Communication alone is the same with a
 * receiver in time. The work begins after the word of the sender, whose time begins before it: a
 * send that waits is never short because the sender was late itself. */
#include "overlap/bench.h"

static int64_t active(const struct pl_round *round)
{
    int64_t begin = round->clock->now_ns();
    pl_signal(round, PL_TAG_READY);
    pl_send(round, round->out, round->peer);
    int64_t ns = round->clock->now_ns() - begin;
    pl_signal(round, PL_TAG_DONE);
    return ns;
}

static void passive(const struct pl_round *round)
{
    MPI_Request *done = &round->pending[round->requests];
    pl_await(round, PL_TAG_READY);
    PMPI_Irecv(NULL, 0, MPI_BYTE, round->peer, PL_TAG_DONE, round->comm, done);
    if (round->part == PL_PART_BOTH)
        pl_compute(round, done, 1);
    pl_irecv(round, round->in, round->peer, round->pending);
    pl_wait(round, round->pending, round->requests);
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
