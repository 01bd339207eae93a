/* Gather as Allgather: everybody receives everything, the root keeps it.
 *
 * Source: guideline GL3 of Hunold, Carpen-Amarie, Luebbe, Traeff, Euro-Par 2016, appendix A.
 * Cost: Allgather(n); with the best algorithm ceil(log2 p) a + (p-1)/p n b.
 * Restrictions: none. Receive arguments of the other ranks are not looked at.
 * Scratch: n bytes on every rank but the root; there too with a derived type. One block for a root
 * that sends in place, since MPI_Allgather takes MPI_IN_PLACE from all ranks or none. */
#include "tools.h"

#include <string.h>

static int run(const struct pl_call *call)
{
    int rc, p, rank;
    PL_TRY(pl_ranks(call, &p, &rank));

    const struct pl_block block = pl_own_block(call, rank);
    const void *own;
    PL_TRY(pl_block_bytes(&block, PL_SLOT_SEND, call->comm, &own));
    if (rank != call->root) {
        void *all = pl_scratch(call->comm, PL_SLOT_RECV, (size_t)block.bytes * (size_t)p);
        PL_NEED(call, all);
        return pl_inner_Allgather(own, block.bytes, MPI_BYTE, all, block.bytes, MPI_BYTE,
                                  call->comm, call);
    }

    if (call->sendbuf == MPI_IN_PLACE && own == block.buf && block.bytes > 0) {
        void *copy = pl_scratch(call->comm, PL_SLOT_SEND, (size_t)block.bytes);
        PL_NEED(call, copy);
        own = memcpy(copy, own, (size_t)block.bytes);
    }
    void *all;
    PL_TRY(pl_landing(call, p * block.bytes, PL_SLOT_RECV, &all));
    PL_TRY(pl_inner_Allgather(own, block.bytes, MPI_BYTE, all, block.bytes, MPI_BYTE, call->comm,
                              call));
    PL_TRY(pl_deliver(call, all, p * block.bytes, p));
out:
    return rc;
}

PL_DESCRIBE(PL_MOCKUP, gather, gather_as_allgather, run,
            "Allgather; the root keeps the result (GL3)", .scratch_volumes = 3);
