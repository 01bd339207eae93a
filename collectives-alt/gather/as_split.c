/* Gather as `pieces` calls of Gather, each with a part of every block; see split.h.
 *
 * Cost: pieces Gather(n / pieces), and n bytes copied at the root, where the parts of one call
 * arrive side by side and belong into p blocks.
 * Restrictions: none. Receive arguments of the other ranks are not looked at.
 * Scratch: n / pieces bytes at the root, n more there with a derived type; with a derived send type
 * one block. */
#include "parts.h"
#include "split.h"

static int run(const struct pl_call *call)
{
    int rc, p, rank;
    PL_TRY(pl_ranks(call, &p, &rank));

    const struct pl_block block = pl_own_block(call, rank);
    const int pieces = pl_pieces(call, block.bytes);
    const bool root = rank == call->root;
    const struct pl_side side = pl_recv_side(call);
    const void *own;
    char *rows = NULL;
    struct pl_part *parts = NULL;
    PL_TRY(pl_block_bytes(&block, PL_SLOT_SEND, call->comm, &own));
    if (root) {
        const int most = pl_piece(block.bytes, pieces, 0).count;
        rows = pl_scratch(call->comm, PL_SLOT_RECV, (size_t)p * (size_t)most);
        parts = pl_part_tables(call->comm, p, 1);
        PL_NEED(call, rows && parts);
        PL_TRY(pl_parts(call->comm, &side, p, false, PL_SLOT_WORK, parts));
    }
    for (int j = 0; j < pieces; j++) {
        const struct pl_piece piece = pl_piece(block.bytes, pieces, j);
        PL_TRY(pl_inner_Gather((const char *)own + piece.first, piece.count, MPI_BYTE, rows,
                               piece.count, MPI_BYTE, call->root, call->comm, call));
        if (root)
            pl_rows_empty(rows, parts, p, piece.first, piece.count);
    }
    if (root)
        PL_TRY(pl_parts_unpack(call->comm, &side, p, parts));
out:
    return rc;
}

PL_DESCRIBE(PL_MOCKUP, gather, gather_as_split, run, "several calls on parts of every block (GL2)",
            .scratch_volumes = 3, .parameters = {PL_PIECES});
