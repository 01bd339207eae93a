/* Bcast as Allgatherv: only the root has a block, everybody receives in place.
 *
 * Source: Hunold, Carpen-Amarie, "Autotuning MPI Collectives using Performance Guidelines", HPC
 * Asia 2018.
 * Cost: Allgatherv(n) with one block of n bytes; on a ring up to (p-1) a + (p-1) n b.
 * Restrictions: none.
 * Scratch: 2 p integers; with a derived type n bytes. */
#include "tools.h"

static int run(const struct pl_call *call)
{
    int rc, p, rank;
    PL_TRY(pl_ranks(call, &p, &rank));

    const int n = (int)pl_volume(call);
    const bool root = rank == call->root, dense = pl_dense(call->recvtype);
    const int *counts = pl_tables(call, p, pl_one_block, call->root, n);
    void *all = dense ? call->recvbuf : pl_scratch(call->comm, PL_SLOT_RECV, (size_t)n);
    PL_NEED(call, counts && (all || n == 0));
    if (root && !dense)
        PL_TRY(pl_pack(call->recvbuf, call->recvcount, call->recvtype, all, n, call->comm));
    PL_TRY(pl_inner_Allgatherv(MPI_IN_PLACE, 0, MPI_BYTE, all, counts, counts + p, MPI_BYTE,
                               call->comm, call));
    if (!root && !dense)
        PL_TRY(pl_unpack(all, n, call->recvbuf, call->recvcount, call->recvtype, call->comm));
out:
    return rc;
}

PL_DESCRIBE(PL_MOCKUP, bcast, bcast_as_allgatherv, run,
            "Allgatherv where only the root has a block", .scratch_volumes = 1);
