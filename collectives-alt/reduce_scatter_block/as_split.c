/* Reduce_scatter_block as `pieces` calls of Reduce_scatter_block, each with a part of every block;
 * see split.h.
 *
 * Cost: pieces Reduce_scatter_block(n / pieces), and n bytes copied, which puts the parts of one
 * call side by side.
 * Restrictions: contiguous types (operands.c); MPI's own operations, since blocks are cut. In
 * place, the operands of a call are copied before its result overwrites part of the first block.
 * Scratch: n / pieces bytes. */
#include "split.h"

static int run(const struct pl_call *call)
{
    int rc, p, rank;
    PL_TRY(pl_ranks(call, &p, &rank));

    const MPI_Datatype type = call->recvtype;
    const int block = call->recvcount, pieces = pl_pieces(call, block);
    const int most = pl_piece(block, pieces, 0).count;
    const void *operands = pl_operand(call);
    void *rows = pl_scratch_elements(call->comm, PL_SLOT_SEND, p * most, type);
    PL_NEED(call, rows);
    for (int j = 0; j < pieces; j++) {
        const struct pl_piece piece = pl_piece(block, pieces, j);
        for (int i = 0; i < p; i++)
            PL_TRY(pl_copy(pl_at(operands, (long long)i * block + piece.first, type),
                           pl_at(rows, (long long)i * piece.count, type), piece.count, type,
                           call->comm));
        PL_TRY(pl_inner_Reduce_scatter_block(rows, pl_at(call->recvbuf, piece.first, type),
                                             piece.count, type, call->op, call->comm, call));
    }
out:
    return rc;
}

PL_DESCRIBE(PL_MOCKUP, reduce_scatter_block, reduce_scatter_block_as_split, run,
            "several calls on parts of every block (GL2)",
            .restrictions = PL_CONTIGUOUS | PL_BUILTIN_OP, .scratch_volumes = 2,
            .parameters = {PL_PIECES});
