/* Reduce_scatter_block as Reduce_scatter with p equal counts.
 *
 * Source: Hunold, Carpen-Amarie, "Autotuning MPI Collectives using Performance Guidelines", HPC
 * Asia 2018.
 * Cost: Reduce_scatter(n).
 * Restrictions: contiguous types (operands.c); all arguments, MPI_IN_PLACE too, pass through.
 * Scratch: 2 p integers. */
#include "tools.h"

static int run(const struct pl_call *call)
{
    int rc, p, rank;
    PL_TRY(pl_ranks(call, &p, &rank));
    const int *counts = pl_tables(call, p, pl_equal_blocks, call->recvcount, 0);
    PL_NEED(call, counts);
    PL_TRY(pl_inner_Reduce_scatter(call->sendbuf, call->recvbuf, counts, call->recvtype, call->op,
                                   call->comm, call));
out:
    return rc;
}

PL_DESCRIBE(PL_MOCKUP, reduce_scatter_block, reduce_scatter_block_as_reduce_scatter, run,
            "Reduce_scatter with equal counts", .restrictions = PL_CONTIGUOUS);
