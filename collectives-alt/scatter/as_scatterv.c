/* Scatter as Scatterv with p equal counts.
 *
 * Source: Hunold, Carpen-Amarie, "Autotuning MPI Collectives using Performance Guidelines", HPC
 * Asia 2018.
 * Cost: Scatterv(n); linear (p-1) a + (p-1)/p n b.
 * Restrictions: none. Send arguments of the other ranks are not looked at.
 * Scratch: 2 p integers at the root, with a derived type n bytes more; with a derived receive type
 * one block. */
#include "tools.h"

static int run(const struct pl_call *call)
{
    int rc, p, rank;
    PL_TRY(pl_ranks(call, &p, &rank));

    const int n = (int)pl_volume(call), block = n / p;
    const bool packed = call->recvbuf != MPI_IN_PLACE && !pl_dense(call->recvtype);
    void *mine = packed ? pl_scratch(call->comm, PL_SLOT_RECV, (size_t)block) : call->recvbuf;
    const void *all = NULL;
    const int *counts = NULL, *first = NULL;
    PL_NEED(call, !packed || mine);
    if (rank == call->root) {
        const struct pl_block whole = {call->sendbuf, p * call->sendcount, call->sendtype, n};
        if (n > 0)
            PL_TRY(pl_block_bytes(&whole, PL_SLOT_SEND, call->comm, &all));
        counts = pl_tables(call, p, pl_equal_blocks, block, 0);
        PL_NEED(call, counts);
        first = counts + p;
    }
    PL_TRY(pl_inner_Scatterv(all, counts, first, MPI_BYTE, mine, block, MPI_BYTE, call->root,
                             call->comm, call));
    if (packed)
        PL_TRY(pl_unpack(mine, block, call->recvbuf, call->recvcount, call->recvtype, call->comm));
out:
    return rc;
}

PL_DESCRIBE(PL_MOCKUP, scatter, scatter_as_scatterv, run, "Scatterv with equal counts",
            .scratch_volumes = 2);
