/* Reduce_scatter as `pieces` calls of Reduce_scatter, each with a part of every block; see split.h.
 *
 * Cost: pieces Reduce_scatter(n / pieces), and n bytes copied, which puts the parts of one call
 * side by side.
 * Restrictions: contiguous types (operands.c); MPI's own operations, since blocks are cut.
 * Scratch: n / pieces bytes and p integers; in place also the result, which would
 * overwrite operands of later calls. */
#include "split.h"

/* Part j of every block, one after another; `share` gets their lengths. */
static int take(const struct pl_call *call, int p, int pieces, int j, void *rows, int *share)
{
    int rc = MPI_SUCCESS, block = 0, row = 0;
    const MPI_Datatype type = call->recvtype;
    for (int i = 0; i < p; i++) {
        const struct pl_piece piece = pl_piece(call->recvcounts[i], pieces, j);
        PL_TRY(pl_copy(pl_at(pl_operand(call), block + piece.first, type), pl_at(rows, row, type),
                       piece.count, type, call->comm));
        share[i] = piece.count;
        block += call->recvcounts[i];
        row += piece.count;
    }
out:
    return rc;
}

static int run(const struct pl_call *call)
{
    int rc, p, rank, most = 0, together = 0;
    PL_TRY(pl_ranks(call, &p, &rank));

    const MPI_Datatype type = call->recvtype;
    const int mine = call->recvcounts[rank];
    for (int i = 0; i < p; i++)
        most = call->recvcounts[i] > most ? call->recvcounts[i] : most;
    const int pieces = pl_pieces(call, most);
    for (int i = 0; i < p; i++)
        together += pl_piece(call->recvcounts[i], pieces, 0).count;
    const bool in_place = call->sendbuf == MPI_IN_PLACE;
    int *share = pl_scratch(call->comm, PL_SLOT_AUX, (size_t)p * sizeof *share);
    void *rows = pl_scratch_elements(call->comm, PL_SLOT_SEND, together, type);
    void *result = call->recvbuf;
    if (in_place)
        result = pl_scratch_elements(call->comm, PL_SLOT_RECV, mine, type);
    PL_NEED(call, share && rows && (!in_place || result));

    for (int j = 0; j < pieces; j++) {
        PL_TRY(take(call, p, pieces, j, rows, share));
        PL_TRY(pl_inner_Reduce_scatter(rows, pl_at(result, pl_piece(mine, pieces, j).first, type),
                                       share, type, call->op, call->comm, call));
    }
    if (in_place)
        PL_TRY(pl_copy(result, call->recvbuf, mine, type, call->comm));
out:
    return rc;
}

PL_DESCRIBE(PL_MOCKUP, reduce_scatter, reduce_scatter_as_split, run,
            "several calls on parts of every block (GL2)",
            .restrictions = PL_CONTIGUOUS | PL_BUILTIN_OP, .scratch_volumes = 3,
            .parameters = {PL_PIECES});
