/* Gather as Reduce: each rank contributes a vector that is zero but for its own block; a bitwise or
 * puts the blocks together at the root.
 *
 * Source: guideline GL4 of Hunold, Carpen-Amarie, Luebbe, Traeff, Euro-Par 2016, appendix A.
 * Cost: Reduce(n); with the best algorithm 2 ceil(log2 p) a + 2 (p-1)/p n b + (p-1)/p n g, and n
 * bytes zeroed.
 * Restrictions: none. Receive arguments of the other ranks are not looked at.
 * Scratch: n bytes; with a derived type at the root n more there. */
#include "tools.h"

#include <string.h>

static int run(const struct pl_call *call)
{
    int rc, p, rank;
    PL_TRY(pl_ranks(call, &p, &rank));

    const struct pl_block block = pl_own_block(call, rank);
    const int bytes = p * block.bytes;
    char *vector = pl_scratch(call->comm, PL_SLOT_SEND, (size_t)bytes);
    PL_NEED(call, vector);
    memset(vector, 0, (size_t)bytes);
    PL_TRY(pl_pack(block.buf, block.count, block.type, vector + (size_t)rank * block.bytes,
                   block.bytes, call->comm));

    void *all = NULL;
    if (rank == call->root)
        PL_TRY(pl_landing(call, bytes, PL_SLOT_RECV, &all));
    PL_TRY(pl_inner_Reduce(vector, all, bytes, MPI_BYTE, MPI_BOR, call->root, call->comm, call));
    if (rank == call->root)
        PL_TRY(pl_deliver(call, all, bytes, p));
out:
    return rc;
}

PL_DESCRIBE(PL_MOCKUP, gather, gather_as_reduce, run,
            "Reduce with bitwise or over zero-filled vectors (GL4)", .scratch_volumes = 3);
