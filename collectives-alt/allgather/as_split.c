/* Allgather as `pieces` calls of Allgather, each with a part of every block; see split.h.
 *
 * Cost: pieces Allgather(n / pieces), and n bytes copied on every rank, where the parts of one call
 * arrive side by side and belong into p blocks.
 * Restrictions: none.
 * Scratch: n / pieces bytes; with a derived receive type n more, with a derived send type one
 * block. */
#include "parts.h"
#include "split.h"

static int run(const struct pl_call *call)
{
    int rc, p, rank;
    PL_TRY(pl_ranks(call, &p, &rank));

    const struct pl_block block = pl_own_block(call, rank);
    const int pieces = pl_pieces(call, block.bytes);
    const struct pl_side side = pl_recv_side(call);
    const int most = pl_piece(block.bytes, pieces, 0).count;
    char *rows = pl_scratch(call->comm, PL_SLOT_RECV, (size_t)p * (size_t)most);
    struct pl_part *parts = pl_part_tables(call->comm, p, 1);
    const void *own;
    PL_NEED(call, rows && parts);
    PL_TRY(pl_block_bytes(&block, PL_SLOT_SEND, call->comm, &own));
    PL_TRY(pl_parts(call->comm, &side, p, false, PL_SLOT_WORK, parts));
    for (int j = 0; j < pieces; j++) {
        const struct pl_piece piece = pl_piece(block.bytes, pieces, j);
        PL_TRY(pl_inner_Allgather((const char *)own + piece.first, piece.count, MPI_BYTE, rows,
                                  piece.count, MPI_BYTE, call->comm, call));
        pl_rows_empty(rows, parts, p, piece.first, piece.count);
    }
    PL_TRY(pl_parts_unpack(call->comm, &side, p, parts));
out:
    return rc;
}

PL_DESCRIBE(PL_MOCKUP, allgather, allgather_as_split, run,
            "several calls on parts of every block (GL2)", .scratch_volumes = 3,
            .parameters = {PL_PIECES});
