/* Gather as Gatherv with p equal counts.
 *
 * Source: Hunold, Carpen-Amarie, "Autotuning MPI Collectives using Performance Guidelines", HPC
 * Asia 2018.
 * Cost: Gatherv(n); linear (p-1) a + (p-1)/p n b.
 * Restrictions: none. Receive arguments of the other ranks are not looked at.
 * Scratch: 2 p integers at the root, with a derived type n bytes more; with a derived send type one
 * block. */
#include "tools.h"

static int run(const struct pl_call *call)
{
    int rc, p, rank;
    PL_TRY(pl_ranks(call, &p, &rank));

    const struct pl_block block = pl_own_block(call, rank);
    const bool root = rank == call->root;
    const void *own;
    void *all = NULL;
    const int *counts = NULL, *first = NULL;
    PL_TRY(pl_block_bytes(&block, PL_SLOT_SEND, call->comm, &own));
    if (root) {
        PL_TRY(pl_landing(call, p * block.bytes, PL_SLOT_RECV, &all));
        counts = pl_tables(call, p, pl_equal_blocks, block.bytes, 0);
        PL_NEED(call, counts);
        first = counts + p;
        if (call->sendbuf == MPI_IN_PLACE && all == call->recvbuf)
            own = MPI_IN_PLACE;
    }
    PL_TRY(pl_inner_Gatherv(own, block.bytes, MPI_BYTE, all, counts, first, MPI_BYTE, call->root,
                            call->comm, call));
    if (root)
        PL_TRY(pl_deliver(call, all, p * block.bytes, p));
out:
    return rc;
}

PL_DESCRIBE(PL_MOCKUP, gather, gather_as_gatherv, run, "Gatherv with equal counts",
            .scratch_volumes = 2);
