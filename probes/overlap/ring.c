/* Overlap around a ring: Irecv from the left, the word that it is posted, Isend to the right,
 * computation, Waitall, on every rank. Communication alone: Irecv, word, Send, Wait. */
#include "overlap/bench.h"

static int64_t active(const struct pl_exchange *exchange)
{
    const int right = (exchange->rank + 1) % exchange->size;
    const int left = (exchange->rank + exchange->size - 1) % exchange->size;
    MPI_Request *const sends = &exchange->pending[exchange->requests];
    int64_t begin = exchange->clock->now_ns();
    pl_irecv(exchange, exchange->in, left, exchange->pending);
    PMPI_Sendrecv(NULL, 0, MPI_BYTE, left, PL_TAG_READY, NULL, 0, MPI_BYTE, right, PL_TAG_READY,
                  exchange->comm, MPI_STATUS_IGNORE);
    if (exchange->part == PL_PART_COMMUNICATION) {
        pl_send(exchange, exchange->out, right);
        pl_wait(exchange, exchange->pending, exchange->requests);
    } else {
        pl_isend(exchange, exchange->out, right, sends);
        pl_compute(exchange, exchange->pending, 2 * exchange->requests);
        pl_wait(exchange, exchange->pending, 2 * exchange->requests);
    }
    return exchange->clock->now_ns() - begin;
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
