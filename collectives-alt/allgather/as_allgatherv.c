/* Allgather as Allgatherv with p equal counts.
 *
 * Source: Hunold, Carpen-Amarie, "Autotuning MPI Collectives using Performance Guidelines", HPC
 * Asia 2018.
 * Cost: Allgatherv(n); on a ring (p-1) a + (p-1)/p n b.
 * Restrictions: none.
 * Scratch: 2 p integers; with a derived receive type n bytes, with a derived send type one block.
 */
#include "tools.h"

static int run(const struct pl_call *call)
{
    int rc, p, rank;
    PL_TRY(pl_ranks(call, &p, &rank));

    const struct pl_block block = pl_own_block(call, rank);
    const int *counts = pl_tables(call, p, pl_equal_blocks, block.bytes, 0);
    PL_NEED(call, counts);
    const void *own = MPI_IN_PLACE; /* for all ranks or none */
    void *all;
    PL_TRY(pl_landing(call, p * block.bytes, PL_SLOT_RECV, &all));
    if (call->sendbuf != MPI_IN_PLACE)
        PL_TRY(pl_block_bytes(&block, PL_SLOT_SEND, call->comm, &own));
    else if (all != call->recvbuf)
        PL_TRY(pl_pack(block.buf, block.count, block.type, (char *)all + counts[p + rank],
                       block.bytes, call->comm));
    PL_TRY(pl_inner_Allgatherv(own, block.bytes, MPI_BYTE, all, counts, counts + p, MPI_BYTE,
                               call->comm, call));
    PL_TRY(pl_deliver(call, all, p * block.bytes, p));
out:
    return rc;
}

PL_DESCRIBE(PL_MOCKUP, allgather, allgather_as_allgatherv, run, "Allgatherv with equal counts",
            .scratch_volumes = 2);
