/* Reduce as Reduce_scatter of p blocks that differ by at most one element, then Gatherv to the
 * root: as reduce_as_reduce_scatter_block_plus_gather without padding.
 *
 * Source: Hunold, Carpen-Amarie, "Autotuning MPI Collectives using Performance Guidelines", HPC
 * Asia 2018.
 * Cost: Reduce_scatter(n) + Gatherv(n); with the best algorithms 2 ceil(log2 p) a + 2 (p-1)/p n b +
 * (p-1)/p n g.
 * Restrictions: contiguous types (operands.c); MPI's own operations, since the vector is cut.
 * Scratch: 2 p integers; one block, but at a root that is not in place. */
#include "split.h"

static int run(const struct pl_call *call)
{
    int rc, p, rank;
    PL_TRY(pl_ranks(call, &p, &rank));

    const MPI_Datatype type = call->recvtype;
    const bool root = rank == call->root, in_place = root && call->sendbuf == MPI_IN_PLACE;
    const int *counts = pl_tables(call, p, pl_piece_blocks, call->recvcount, 0);
    PL_NEED(call, counts);
    const int *first = counts + p;
    void *mine;
    if (root && !in_place) {
        mine = pl_at(call->recvbuf, first[rank], type);
    } else {
        mine = pl_scratch_elements(call->comm, PL_SLOT_RECV, counts[rank], type);
        PL_NEED(call, mine);
    }
    PL_TRY(
        pl_inner_Reduce_scatter(pl_operand(call), mine, counts, type, call->op, call->comm, call));
    PL_TRY(pl_inner_Gatherv(root && !in_place ? MPI_IN_PLACE : mine, counts[rank], type,
                            call->recvbuf, counts, first, type, call->root, call->comm, call));
out:
    return rc;
}

PL_DESCRIBE(PL_MOCKUP, reduce, reduce_as_reduce_scatter_plus_gatherv, run,
            "Reduce_scatter, then Gatherv", .restrictions = PL_CONTIGUOUS | PL_BUILTIN_OP,
            .scratch_volumes = 1);
