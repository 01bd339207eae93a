/* Reduce_scatter as Reduce to rank 0, then Scatterv.
 *
 * Source: guideline GL17 of Hunold, Carpen-Amarie, Luebbe, Traeff, Euro-Par 2016, appendix A.
 * Cost: Reduce(n) + Scatterv(n).
 * Restrictions: contiguous types (operands.c); MPI_Reduce keeps the order of operands.
 * Scratch: n bytes and p integers at rank 0. */
#include "tools.h"

static int run(const struct pl_call *call)
{
    int rc, p, rank;
    PL_TRY(pl_ranks(call, &p, &rank));

    const MPI_Datatype type = call->recvtype;
    const int n = pl_first(call->recvcounts, p);
    int *first = NULL;
    void *all = NULL;
    if (rank == 0) {
        all = pl_scratch_elements(call->comm, PL_SLOT_RECV, n, type);
        first = pl_scratch(call->comm, PL_SLOT_AUX, (size_t)p * sizeof *first);
        PL_NEED(call, all && first);
        first[0] = 0;
        for (int i = 1; i < p; i++)
            first[i] = first[i - 1] + call->recvcounts[i - 1];
    }
    PL_TRY(pl_inner_Reduce(pl_operand(call), all, n, type, call->op, 0, call->comm, call));
    PL_TRY(pl_inner_Scatterv(all, call->recvcounts, first, type, call->recvbuf,
                             call->recvcounts[rank], type, 0, call->comm, call));
out:
    return rc;
}

PL_DESCRIBE(PL_MOCKUP, reduce_scatter, reduce_scatter_as_reduce_plus_scatterv, run,
            "Reduce to rank 0, then Scatterv (GL17)", .restrictions = PL_CONTIGUOUS,
            .scratch_volumes = 2);
