/* Allreduce as Reduce to rank 0, then Bcast.
 *
 * Source: guideline GL12 of Hunold, Carpen-Amarie, Luebbe, Traeff, EuroMPI 2016, appendix A.
 * Cost: Reduce(n) + Bcast(n).
 * Restrictions: contiguous types (operands.c); MPI_Reduce keeps the order of operands.
 * Scratch: none. */
#include "tools.h"

static int run(const struct pl_call *call)
{
    int rc, rank;
    PL_TRY(PMPI_Comm_rank(call->comm, &rank));
    const void *operands = rank == 0 ? call->sendbuf : pl_operand(call);
    PL_TRY(PL_MPI(Reduce)(operands, rank == 0 ? call->recvbuf : NULL, call->recvcount,
                          call->recvtype, call->op, 0, call->comm));
    PL_TRY(PL_MPI(Bcast)(call->recvbuf, call->recvcount, call->recvtype, 0, call->comm));
out:
    return rc;
}

const struct pl_variant pl_allreduce_as_reduce_plus_bcast = {
    .name = "allreduce_as_reduce_plus_bcast",
    .function = PL_FN_allreduce,
    .kind = PL_MOCKUP,
    .restrictions = PL_CONTIGUOUS,
    .summary = "Reduce to rank 0, then Bcast (GL12)",
    .run = run,
};
