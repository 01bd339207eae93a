/* Scatter as Bcast: everybody receives everything and keeps one block.
 *
 * Source: guideline GL7 of Hunold, Carpen-Amarie, Luebbe, Traeff, Euro-Par 2016, appendix A.
 * Cost: Bcast(n); with the best algorithm 2 ceil(log2 p) a + 2 (p-1)/p n b.
 * Restrictions: none. Send arguments of the other ranks are not looked at.
 * Scratch: n bytes on every rank but the root; there too with a derived send type. */
#include "tools.h"

static int run(const struct pl_call *call)
{
    int rc, p, rank;
    PL_TRY(pl_ranks(call, &p, &rank));

    const int n = (int)pl_volume(call), block = n / p;
    const bool root = rank == call->root, send_in_place = root && pl_dense(call->sendtype);
    char *all =
        send_in_place ? (char *)call->sendbuf : pl_scratch(call->comm, PL_SLOT_RECV, (size_t)n);
    PL_NEED(call, all || n == 0);
    if (root && !send_in_place && n > 0)
        PL_TRY(pl_pack(call->sendbuf, p * call->sendcount, call->sendtype, all, n, call->comm));
    PL_TRY(pl_inner_Bcast(all, n, MPI_BYTE, call->root, call->comm, call));
    if (call->recvbuf != MPI_IN_PLACE && n > 0)
        PL_TRY(pl_unpack(all + (size_t)rank * (size_t)block, block, call->recvbuf, call->recvcount,
                         call->recvtype, call->comm));
out:
    return rc;
}

PL_DESCRIBE(PL_MOCKUP, scatter, scatter_as_bcast, run,
            "Bcast of all blocks; each rank keeps its own (GL7)", .scratch_volumes = 2);
