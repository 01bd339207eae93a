/* Reduce_scatter_block as Allreduce: everybody computes everything and keeps one block.
 *
 * Source: Hunold, Carpen-Amarie, "Autotuning MPI Collectives using Performance Guidelines", HPC
 * Asia 2018; as guideline GL9.
 * Cost: Allreduce(n); with the best algorithm 2 ceil(log2 p) a + 2 (p-1)/p n b + (p-1)/p n g.
 * Restrictions: contiguous types (operands.c); MPI_Allreduce keeps the order of operands.
 * Scratch: n bytes. */
#include "tools.h"

static int run(const struct pl_call *call)
{
    int rc, p, rank;
    PL_TRY(pl_ranks(call, &p, &rank));

    const MPI_Datatype type = call->recvtype;
    const int block = call->recvcount;
    void *all = pl_scratch_elements(call->comm, PL_SLOT_RECV, p * block, type);
    PL_NEED(call, all);
    PL_TRY(pl_inner_Allreduce(pl_operand(call), all, p * block, type, call->op, call->comm, call));
    PL_TRY(
        pl_copy(pl_at(all, (long long)rank * block, type), call->recvbuf, block, type, call->comm));
out:
    return rc;
}

PL_DESCRIBE(PL_MOCKUP, reduce_scatter_block, reduce_scatter_block_as_allreduce, run,
            "Allreduce; each rank keeps its own block", .restrictions = PL_CONTIGUOUS,
            .scratch_volumes = 2);
