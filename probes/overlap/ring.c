/* Overlap around a ring: Irecv from the left, the word that it is posted, Isend to the right,
 * computation, Waitall, on every rank. Communication alone: Irecv, word, Send, Wait. */
#include "overlap/bench.h"

static int64_t active(const struct pl_round *round)
{
    const int right = (round->rank + 1) % round->size;
    const int left = (round->rank + round->size - 1) % round->size;
    MPI_Request *const sends = &round->pending[round->requests];
    int64_t begin = round->clock->now_ns();
    pl_irecv(round, round->in, left, round->pending);
    PMPI_Sendrecv(NULL, 0, MPI_BYTE, left, PL_TAG_READY, NULL, 0, MPI_BYTE, right, PL_TAG_READY,
                  round->comm, MPI_STATUS_IGNORE);
    if (round->part == PL_PART_COMMUNICATION) {
        pl_send(round, round->out, right);
        pl_wait(round, round->pending, round->requests);
    } else {
        pl_isend(round, round->out, right, sends);
        pl_compute(round, round->pending, 2 * round->requests);
        pl_wait(round, round->pending, 2 * round->requests);
    }
    return round->clock->now_ns() - begin;
}

const struct pl_bench pl_overlap_ring = {
    .name = "ring",
    .summary = "every rank computes beside a message from the left and one to the right",
    .players = PL_ALL_ACTIVE,
    .latencies = 1,
    .halves = 1,
    .to_active = true,
    .active = active,
};
