/* Allreduce as Reduce_scatter_block of p blocks, then Allgather.
 *
 * Source: guideline GL13 of Hunold, Carpen-Amarie, Luebbe, Traeff, Euro-Par 2016, appendix A.
 * Cost: Reduce_scatter_block(n) + Allgather(n); with the best algorithms
 * 2 ceil(log2 p) a + 2 (p-1)/p n b + (p-1)/p n g.
 * Restrictions: contiguous types (operands.c); MPI's own operations, since elements are added.
 * Scratch: one block; if p does not divide the count also twice n bytes rounded up to p equal
 * blocks. Pad elements are copies of element 0, their results are dropped. */
#include "tools.h"

static int run(const struct pl_call *call)
{
    int rc, p, rank;
    PL_TRY(pl_ranks(call, &p, &rank));

    const MPI_Datatype type = call->recvtype;
    const int n = call->recvcount, block = n / p + (n % p > 0), padded = p * block;
    const bool pad = padded != n;
    const void *operands;
    PL_TRY(pl_pad(pl_operand(call), n, padded, type, call->comm, &operands));
    void *mine = pl_scratch_elements(call->comm, PL_SLOT_RECV, block, type);
    void *all = pad ? pl_scratch_elements(call->comm, PL_SLOT_AUX, padded, type) : call->recvbuf;
    PL_NEED(call, mine && (!pad || all));

    PL_TRY(pl_inner_Reduce_scatter_block(operands, mine, block, type, call->op, call->comm, call));
    PL_TRY(pl_inner_Allgather(mine, block, type, all, block, type, call->comm, call));
    if (pad)
        PL_TRY(pl_copy(all, call->recvbuf, n, type, call->comm));
out:
    return rc;
}

PL_DESCRIBE(PL_MOCKUP, allreduce, allreduce_as_reduce_scatter_block_plus_allgather, run,
            "Reduce_scatter_block, then Allgather (GL13)",
            .restrictions = PL_CONTIGUOUS | PL_BUILTIN_OP, .scratch_volumes = 4);
