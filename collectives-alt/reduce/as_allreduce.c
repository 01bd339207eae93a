/* Reduce as Allreduce: everybody computes the result, the root keeps it.
 *
 * Source: guideline GL8 of Hunold, Carpen-Amarie, Luebbe, Traeff, Euro-Par 2016, appendix A.
 * Cost: Allreduce(n); with the best algorithm 2 ceil(log2 p) a + 2 (p-1)/p n b + (p-1)/p n g.
 * Restrictions: contiguous types (operands.c); MPI_Allreduce keeps the order of operands.
 * Scratch: n bytes on every rank but the root; at a root that reduces in place the copy of its
 * operands, since MPI_Allreduce takes MPI_IN_PLACE from all ranks or none. */
#include "tools.h"

static int run(const struct pl_call *call)
{
    int rc, p, rank;
    PL_TRY(pl_ranks(call, &p, &rank));

    const int n = call->recvcount;
    const bool root = rank == call->root, copy_operands = call->sendbuf == MPI_IN_PLACE;
    void *scratch = NULL;
    if (!root || copy_operands) {
        scratch = pl_scratch_elements(call->comm, PL_SLOT_RECV, n, call->recvtype);
        PL_NEED(call, scratch);
    }
    if (copy_operands)
        PL_TRY(pl_copy(call->recvbuf, scratch, n, call->recvtype, call->comm));
    PL_TRY(pl_inner_Allreduce(copy_operands ? scratch : call->sendbuf,
                              root ? call->recvbuf : scratch, n, call->recvtype, call->op,
                              call->comm, call));
out:
    return rc;
}

PL_DESCRIBE(PL_MOCKUP, reduce, reduce_as_allreduce, run,
            "Allreduce; the root keeps the result (GL8)", .restrictions = PL_CONTIGUOUS,
            .scratch_volumes = 2);
