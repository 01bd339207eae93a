/* Reduce as Reduce_scatter in which only the root has a result.
 *
 * Source: PGMPITuneLib 2022; the rule that a specialised function is not slower than a more general
 * one.
 * Cost: Reduce_scatter(n) with one block of n bytes.
 * Restrictions: contiguous types (operands.c); MPI_Reduce_scatter keeps the order of operands.
 * Scratch: 2 p integers; at a root that reduces in place the copy of its operands, since
 * MPI_Reduce_scatter takes MPI_IN_PLACE from all ranks or none. */
#include "tools.h"

static int run(const struct pl_call *call)
{
    int rc, p, rank;
    PL_TRY(pl_ranks(call, &p, &rank));

    const int n = call->recvcount;
    const void *operands = call->sendbuf;
    const int *counts = pl_tables(call, p, pl_one_block, call->root, n);
    PL_NEED(call, counts);
    if (operands == MPI_IN_PLACE) {
        void *copy = pl_scratch_elements(call->comm, PL_SLOT_SEND, n, call->recvtype);
        PL_NEED(call, copy);
        PL_TRY(pl_copy(call->recvbuf, copy, n, call->recvtype, call->comm));
        operands = copy;
    }
    /* No result elsewhere: any address will do. */
    PL_TRY(pl_inner_Reduce_scatter(operands, rank == call->root ? call->recvbuf : (void *)counts,
                                   counts, call->recvtype, call->op, call->comm, call));
out:
    return rc;
}

PL_DESCRIBE(PL_MOCKUP, reduce, reduce_as_reduce_scatter, run,
            "Reduce_scatter in which only the root has a result", .restrictions = PL_CONTIGUOUS,
            .scratch_volumes = 2);
