/* Allgather as Gather to rank 0, then Bcast.
 *
 * Source: guideline GL11 of Hunold, Carpen-Amarie, Luebbe, Traeff, Euro-Par 2016, appendix A.
 * Cost: Gather(n) + Bcast(n).
 * Restrictions: none.
 * Scratch: none; with a derived receive type n bytes, with a derived send type one block. */
#include "tools.h"

static int run(const struct pl_call *call)
{
    int rc, p, rank;
    PL_TRY(pl_ranks(call, &p, &rank));

    const struct pl_block block = pl_own_block(call, rank);
    const void *own;
    void *all;
    PL_TRY(pl_block_bytes(&block, PL_SLOT_SEND, call->comm, &own));
    PL_TRY(pl_landing(call, p * block.bytes, PL_SLOT_RECV, &all));
    if (rank == 0 && own == all)
        own = MPI_IN_PLACE;
    PL_TRY(pl_inner_Gather(own, block.bytes, MPI_BYTE, all, block.bytes, MPI_BYTE, 0, call->comm,
                           call));
    PL_TRY(pl_inner_Bcast(all, p * block.bytes, MPI_BYTE, 0, call->comm, call));
    PL_TRY(pl_deliver(call, all, p * block.bytes, p));
out:
    return rc;
}

PL_DESCRIBE(PL_MOCKUP, allgather, allgather_as_gather_plus_bcast, run,
            "Gather to rank 0, then Bcast (GL11)", .scratch_volumes = 2);
