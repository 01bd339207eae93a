/* Allgather as Allreduce: each rank contributes a vector that is zero but for its own block; a
 * bitwise or puts the blocks together everywhere.
 *
 * Source: guideline GL6 of Hunold, Carpen-Amarie, Luebbe, Traeff, Euro-Par 2016, appendix A.
 * Cost: Allreduce(n); with the best algorithm 2 ceil(log2 p) a + 2 (p-1)/p n b + (p-1)/p n g, and n
 * bytes zeroed.
 * Restrictions: none.
 * Scratch: none; with a derived receive type n bytes. */
#include "tools.h"

#include <string.h>

static int run(const struct pl_call *call)
{
    int rc, p, rank;
    PL_TRY(pl_ranks(call, &p, &rank));

    const struct pl_block block = pl_own_block(call, rank);
    const int bytes = p * block.bytes;
    void *all;
    PL_TRY(pl_landing(call, bytes, PL_SLOT_RECV, &all));
    if (bytes > 0) {
        char *mine = (char *)all + (size_t)rank * (size_t)block.bytes;
        memset(all, 0, (size_t)rank * (size_t)block.bytes);
        memset(mine + block.bytes, 0, (size_t)(p - 1 - rank) * (size_t)block.bytes);
        if (mine != block.buf)
            PL_TRY(pl_pack(block.buf, block.count, block.type, mine, block.bytes, call->comm));
    }
    PL_TRY(pl_inner_Allreduce(MPI_IN_PLACE, all, bytes, MPI_BYTE, MPI_BOR, call->comm, call));
    PL_TRY(pl_deliver(call, all, bytes, p));
out:
    return rc;
}

PL_DESCRIBE(PL_MOCKUP, allgather, allgather_as_allreduce, run,
            "Allreduce with bitwise or over zero-filled vectors (GL6)", .scratch_volumes = 2);
