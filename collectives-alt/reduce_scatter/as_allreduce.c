/* Reduce_scatter as Allreduce: everybody computes everything and keeps its own part.
 *
 * Source: guideline GL9 of Hunold, Carpen-Amarie, Luebbe, Traeff, Euro-Par 2016, appendix A.
 * Cost: Allreduce(n); with the best algorithm 2 ceil(log2 p) a + 2 (p-1)/p n b + (p-1)/p n g.
 * Restrictions: contiguous types (operands.c); MPI_Allreduce keeps the order of operands.
 * Scratch: n bytes. */
#include "tools.h"

static int run(const struct pl_call *call)
{
    int rc, p, rank;
    PL_TRY(pl_ranks(call, &p, &rank));

    const MPI_Datatype type = call->recvtype;
    const int n = pl_first(call->recvcounts, p), first = pl_first(call->recvcounts, rank);
    void *all = pl_scratch_elements(call->comm, PL_SLOT_RECV, n, type);
    PL_NEED(call, all);
    PL_TRY(pl_inner_Allreduce(pl_operand(call), all, n, type, call->op, call->comm, call));
    PL_TRY(
        pl_copy(pl_at(all, first, type), call->recvbuf, call->recvcounts[rank], type, call->comm));
out:
    return rc;
}

PL_DESCRIBE(PL_MOCKUP, reduce_scatter, reduce_scatter_as_allreduce, run,
            "Allreduce; each rank keeps its own part (GL9)", .restrictions = PL_CONTIGUOUS,
            .scratch_volumes = 2);
