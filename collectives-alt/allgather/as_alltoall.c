/* Allgather as Alltoall: every rank sends p copies of its block.
 *
 * Source: guideline GL5 of Hunold, Carpen-Amarie, Luebbe, Traeff, Euro-Par 2016, appendix A.
 * Cost: Alltoall(n); pairwise (p-1) a + (p-1)/p n b; and n bytes copied.
 * Restrictions: none.
 * Scratch: n bytes; with a derived receive type 2 n. */
#include "tools.h"

#include <string.h>

static int run(const struct pl_call *call)
{
    int rc, p, rank;
    PL_TRY(pl_ranks(call, &p, &rank));

    const struct pl_block block = pl_own_block(call, rank);
    const size_t bytes = (size_t)block.bytes;
    char *copies = pl_scratch(call->comm, PL_SLOT_SEND, bytes * (size_t)p);
    PL_NEED(call, copies);
    PL_TRY(pl_pack(block.buf, block.count, block.type, copies, block.bytes, call->comm));
    for (int i = 1; i < p; i++)
        memcpy(copies + (size_t)i * bytes, copies, bytes);

    void *all;
    PL_TRY(pl_landing(call, p * block.bytes, PL_SLOT_RECV, &all));
    PL_TRY(pl_inner_Alltoall(copies, block.bytes, MPI_BYTE, all, block.bytes, MPI_BYTE, call->comm,
                             call));
    PL_TRY(pl_deliver(call, all, p * block.bytes, p));
out:
    return rc;
}

PL_DESCRIBE(PL_MOCKUP, allgather, allgather_as_alltoall, run,
            "Alltoall of p copies of the own block (GL5)", .scratch_volumes = 3);
