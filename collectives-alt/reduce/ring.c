/* Reduce on a ring: reduce-scatter in p - 1 steps, then each rank sends its block to the root.
 *
 * Source: case study 2 of Hunold, Carpen-Amarie, Luebbe, Traeff, Euro-Par 2016 (section 5.3); the
 * ring is that of Patarasuk and Yuan, JPDC 69(2), 2009.
 * Cost: 2 (p-1) a + 2 (p-1)/p n b + (p-1)/p n g.
 * Restrictions: MPI's own operations, since the vector is cut; they commute, as block i asks, which
 * is reduced in the order i + 1, …, i.
 * Messages: p - 1 to the next rank, one to the root, on the private communicator; blocks differ by
 * at most one element, and empty ones are not sent.
 * Scratch: three blocks, and p requests at the root, kept on the communicator: memory allocated in
 * every call costs more than the algorithm gains. */
#include "reductions.h"

enum { TAG_ROOT = PL_OWN_TAG };

/* Gatherv to the root: direct receives, posted when its own operands are no longer needed. */
static int collect(const struct pl_call *call, MPI_Comm peers, const struct pl_cut *blocks,
                   const void *block)
{
    int rc = MPI_SUCCESS, pending = 0;
    const MPI_Datatype type = call->recvtype;
    const int root = call->root;
    void *own = pl_at(call->recvbuf, pl_cut_range(blocks, root).first, type);
    MPI_Request *requests = pl_requests(call->comm, blocks->ranges);
    PL_NEED(call, requests);
    for (int i = 0; i < blocks->ranges; i++) {
        const struct pl_range range = pl_cut_range(blocks, i);
        if (i == root || range.count == 0)
            continue;
        PL_TRY(pl_peer_irecv(call, pl_at(call->recvbuf, range.first, type), range.count, type, i,
                             TAG_ROOT, peers, &requests[pending]));
        pending++;
    }
    if (block != own)
        PL_TRY(pl_copy(block, own, pl_cut_range(blocks, root).count, type, call->comm));
    PL_TRY(pl_peer_wait_all(call, pending, requests));
out:
    return rc;
}

static int run(const struct pl_call *call)
{
    int rc, p, rank;
    MPI_Comm peers;
    void *block = NULL;
    PL_TRY(pl_ranks(call, &p, &rank));
    if (p == 1)
        return pl_alone(call);
    PL_TRY(pl_private(call->comm, &peers));
    const struct pl_cut blocks = {.n = call->recvcount, .ranges = p};
    const struct pl_range own = pl_cut_range(&blocks, rank);
    const bool direct = rank == call->root && call->sendbuf != MPI_IN_PLACE;
    if (direct)
        block = pl_at(call->recvbuf, own.first, call->recvtype);
    PL_TRY(pl_ring(call, peers, &blocks, rank, direct, &block));
    if (rank == call->root)
        PL_TRY(collect(call, peers, &blocks, block));
    else if (own.count > 0)
        PL_TRY(pl_peer_send(call, block, own.count, call->recvtype, call->root, TAG_ROOT, peers));
out:
    return rc;
}

PL_DESCRIBE(PL_ALGORITHM, reduce, reduce_ring, run,
            "reduce-scatter on a ring, then Gatherv to the root (case study 2)",
            .restrictions = PL_BUILTIN_OP, .scratch_volumes = 3);
