/* Allreduce on a ring: reduce-scatter in p - 1 steps, then allgather in p - 1 steps.
 *
 * Source: Patarasuk, Yuan, JPDC 69(2), 2009.
 * Cost: 2 (p-1) a + 2 (p-1)/p n b + (p-1)/p n g.
 * Restrictions: MPI's own operations, since the vector is cut; they commute, as block i asks, which
 * is reduced in the order i + 1, …, i.
 * Messages: 2 (p-1) to the next rank, on the private communicator; blocks differ by at most one
 * element, and empty ones are not sent.
 * Scratch: three blocks. */
#include "reductions.h"

static int run(const struct pl_call *call)
{
    int rc, p, rank;
    MPI_Comm peers;
    PL_TRY(pl_ranks(call, &p, &rank));
    if (p == 1)
        return pl_alone(call);
    PL_TRY(pl_private(call->comm, &peers));
    const struct pl_cut blocks = {.n = call->recvcount, .ranges = p};
    const struct pl_range own = pl_cut_range(&blocks, rank);
    void *place = pl_at(call->recvbuf, own.first, call->recvtype), *block = place;
    PL_TRY(pl_ring(call, peers, &blocks, rank, call->sendbuf != MPI_IN_PLACE, &block));
    if (block != place)
        PL_TRY(pl_copy(block, place, own.count, call->recvtype, call->comm));
    PL_TRY(pl_ring_allgather(call, peers, &blocks, rank));
out:
    return rc;
}

PL_DESCRIBE(PL_ALGORITHM, allreduce, allreduce_ring, run,
            "reduce-scatter, then allgather, on a ring (Patarasuk and Yuan 2009)",
            .restrictions = PL_BUILTIN_OP, .scratch_volumes = 2);
