/* Reduce_scatter_block as Reduce to rank 0, then Scatter.
 *
 * Source: guideline GL15 of Hunold, Carpen-Amarie, Luebbe, Traeff, Euro-Par 2016, appendix A.
 * Cost: Reduce(n) + Scatter(n).
 * Restrictions: contiguous types (operands.c); MPI_Reduce keeps the order of operands.
 * Scratch: n bytes at rank 0. */
#include "tools.h"

static int run(const struct pl_call *call)
{
    int rc, p, rank;
    PL_TRY(pl_ranks(call, &p, &rank));

    const MPI_Datatype type = call->recvtype;
    const int block = call->recvcount;
    void *all = NULL;
    if (rank == 0) {
        all = pl_scratch_elements(call->comm, PL_SLOT_RECV, p * block, type);
        PL_NEED(call, all);
    }
    PL_TRY(pl_inner_Reduce(pl_operand(call), all, p * block, type, call->op, 0, call->comm, call));
    PL_TRY(pl_inner_Scatter(all, block, type, call->recvbuf, block, type, 0, call->comm, call));
out:
    return rc;
}

PL_DESCRIBE(PL_MOCKUP, reduce_scatter_block, reduce_scatter_block_as_reduce_plus_scatter, run,
            "Reduce to rank 0, then Scatter (GL15)", .restrictions = PL_CONTIGUOUS,
            .scratch_volumes = 2);
