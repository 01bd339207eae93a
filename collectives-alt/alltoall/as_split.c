/* Alltoall as `pieces` calls of Alltoall, each with a part of every block; see split.h.
 *
 * Cost: pieces Alltoall(n / pieces), and 2 n bytes copied: the parts of one call are put side by
 * side, and what arrives side by side belongs into p blocks.
 * Restrictions: none. In place, the parts of a call have left before it overwrites them.
 * Scratch: 2 n / pieces bytes; n more for each derived type. */
#include "parts.h"
#include "split.h"

static int run(const struct pl_call *call)
{
    int rc, p, rank, size;
    PL_TRY(pl_ranks(call, &p, &rank));
    PL_TRY(PMPI_Type_size(call->recvtype, &size));

    const int block = call->recvcount * size, pieces = pl_pieces(call, block);
    const bool in_place = call->sendbuf == MPI_IN_PLACE;
    const struct pl_side source = pl_send_side(call), target = pl_recv_side(call);
    const size_t row = (size_t)pl_piece(block, pieces, 0).count;
    char *out_rows = pl_scratch(call->comm, PL_SLOT_WORK, 2 * (size_t)p * row);
    struct pl_part *to = pl_part_tables(call->comm, p, 2), *from = to;
    PL_NEED(call, out_rows && to);
    char *in_rows = out_rows + (size_t)p * row;
    PL_TRY(pl_parts(call->comm, &target, p, false, PL_SLOT_RECV, to));
    if (!in_place) {
        from = to + p;
        PL_TRY(pl_parts(call->comm, &source, p, false, PL_SLOT_SEND, from));
    }
    PL_TRY(pl_parts_pack(call->comm, &source, 0, p, from));
    for (int j = 0; j < pieces; j++) {
        const struct pl_piece piece = pl_piece(block, pieces, j);
        pl_rows_fill(out_rows, from, p, piece.first, piece.count);
        PL_TRY(pl_inner_Alltoall(out_rows, piece.count, MPI_BYTE, in_rows, piece.count, MPI_BYTE,
                                 call->comm, call));
        pl_rows_empty(in_rows, to, p, piece.first, piece.count);
    }
    PL_TRY(pl_parts_unpack(call->comm, &target, p, to));
out:
    return rc;
}

PL_DESCRIBE(PL_MOCKUP, alltoall, alltoall_as_split, run,
            "several calls on parts of every block (GL2)", .scratch_volumes = 4,
            .parameters = {PL_PIECES});
