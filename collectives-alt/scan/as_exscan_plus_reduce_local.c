/* Scan as Exscan, then Reduce_local with the own operands.
 *
 * Source: guideline GL16 of Hunold, Carpen-Amarie, Luebbe, Traeff, Euro-Par 2016, appendix A.
 * Cost: Exscan(n) + n g, and n bytes copied unless in place.
 * Restrictions: contiguous types (operands.c). MPI_Reduce_local(in, inout) computes in op inout:
 * the prefix of the lower ranks is `in`, so operands stay in the order of ranks. Scratch: n bytes.
 */
#include "tools.h"

static int run(const struct pl_call *call)
{
    int rc, p, rank;
    PL_TRY(pl_ranks(call, &p, &rank));

    const int n = call->recvcount;
    void *prefix = pl_scratch_elements(call->comm, PL_SLOT_RECV, n, call->recvtype);
    PL_NEED(call, prefix);
    PL_TRY(
        pl_inner_Exscan(pl_operand(call), prefix, n, call->recvtype, call->op, call->comm, call));
    if (call->sendbuf != MPI_IN_PLACE)
        PL_TRY(pl_copy(call->sendbuf, call->recvbuf, n, call->recvtype, call->comm));
    /* Rank 0 has no prefix. */
    if (rank > 0)
        PL_TRY(PL_MPI(Reduce_local)(prefix, call->recvbuf, n, call->recvtype, call->op));
out:
    return rc;
}

PL_DESCRIBE(PL_MOCKUP, scan, scan_as_exscan_plus_reduce_local, run,
            "Exscan, then Reduce_local (GL16)", .restrictions = PL_CONTIGUOUS,
            .scratch_volumes = 2);
