/* Allreduce as Reduce to rank 0, then Bcast.
 *
 * Source: guideline GL12 of Hunold, Carpen-Amarie, Luebbe, Traeff, Euro-Par 2016, appendix A.
 * Cost: Reduce(n) + Bcast(n).
 * Restrictions: contiguous types (operands.c); MPI_Reduce keeps the order of operands.
 * Scratch: none. */
#include "tools.h"

static int run(const struct pl_call *call)
{
    int rc, p, rank;
    PL_TRY(pl_ranks(call, &p, &rank));
    const void *operands = rank == 0 ? call->sendbuf : pl_operand(call);
    PL_TRY(pl_inner_Reduce(operands, rank == 0 ? call->recvbuf : NULL, call->recvcount,
                           call->recvtype, call->op, 0, call->comm, call));
    PL_TRY(pl_inner_Bcast(call->recvbuf, call->recvcount, call->recvtype, 0, call->comm, call));
out:
    return rc;
}

PL_DESCRIBE(PL_MOCKUP, allreduce, allreduce_as_reduce_plus_bcast, run,
            "Reduce to rank 0, then Bcast (GL12)", .restrictions = PL_CONTIGUOUS);
