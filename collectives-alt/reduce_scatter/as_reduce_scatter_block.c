/* Reduce_scatter as Reduce_scatter_block of blocks padded to one length; all ranks know all counts.
 *
 * Source: Traeff, "Relationships between regular and irregular collective communication operations
 * on clustered multiprocessors", Parallel Processing Letters 19(1), 2009, for padding; the rounds
 * are ours (pl_equal_rounds): blocks that differ by at most one element take one
 * Reduce_scatter_block, very uneven ones up to p, so that memory stays bounded. Cost: one
 * Reduce_scatter_block(n) a round; in all rounds together n bytes copied, and at most as many of
 * padding. Nothing is copied for equal blocks. Restrictions: contiguous types (operands.c); MPI's
 * own operations, since elements are added. Scratch: n bytes, and at most two blocks' results; none
 * for equal blocks. Pad elements are copies of an operand, their results are dropped. */
#include "parts.h"

/* Elements first .. first + width - 1 of every block, as far as it has them, then padding. What was
 * padding in the round before still is. */
static int take(const struct pl_call *call, int p, int first, int width, void *rows)
{
    int rc = MPI_SUCCESS, block = 0;
    const MPI_Datatype type = call->recvtype;
    const void *operands = pl_operand(call);
    for (int i = 0; i < p; i++) {
        const int here = pl_overlap(call->recvcounts[i], first, width);
        const int before =
            first > 0 ? pl_overlap(call->recvcounts[i], first - width, width) : width;
        const long long row = (long long)i * width;
        PL_TRY(pl_copy(pl_at(operands, (long long)block + first, type), pl_at(rows, row, type),
                       here, type, call->comm));
        PL_TRY(pl_repeat(operands, pl_at(rows, row + here, type), before - here, type, call->comm));
        block += call->recvcounts[i];
    }
out:
    return rc;
}

static int run(const struct pl_call *call)
{
    int rc, p, rank, longest = 0;
    PL_TRY(pl_ranks(call, &p, &rank));

    const MPI_Datatype type = call->recvtype;
    const int n = pl_first(call->recvcounts, p), mine = call->recvcounts[rank];
    for (int i = 0; i < p; i++)
        longest = call->recvcounts[i] > longest ? call->recvcounts[i] : longest;
    const struct pl_equal_rounds rounds = pl_equal_rounds(n, longest, p);
    if (rounds.count == 1 && p * rounds.width == n)
        return pl_inner_Reduce_scatter_block(call->sendbuf, call->recvbuf, rounds.width, type,
                                             call->op, call->comm, call);

    void *rows = pl_scratch_elements(call->comm, PL_SLOT_SEND, p * rounds.width, type);
    void *result = pl_scratch_elements(call->comm, PL_SLOT_RECV, rounds.count * rounds.width, type);
    PL_NEED(call, rows && result);
    for (int j = 0; j < rounds.count; j++) {
        const int first = j * rounds.width;
        PL_TRY(take(call, p, first, rounds.width, rows));
        PL_TRY(pl_inner_Reduce_scatter_block(rows, pl_at(result, first, type), rounds.width, type,
                                             call->op, call->comm, call));
    }
    PL_TRY(pl_copy(result, call->recvbuf, mine, type, call->comm));
out:
    return rc;
}

PL_DESCRIBE(PL_MOCKUP, reduce_scatter, reduce_scatter_as_reduce_scatter_block, run,
            "Reduce_scatter_block of blocks padded to one length",
            .restrictions = PL_CONTIGUOUS | PL_BUILTIN_OP, .scratch_volumes = 4);
