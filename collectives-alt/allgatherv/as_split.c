/* Allgatherv as `pieces` calls of Allgatherv, each with a part of every block; see split.h.
 *
 * Cost: pieces Allgatherv(n / pieces); the parts arrive in their places.
 * Restrictions: none.
 * Scratch: 2 p integers; with a derived receive type (or displacements past INT_MAX bytes) n bytes,
 * with a derived send type one block. */
#include "parts.h"
#include "split.h"

/* With displacements of bytes, blocks of a dense type can be received in place. */
static bool fits(const struct pl_side *side, int p)
{
    int size = 0;
    PMPI_Type_size(side->type, &size);
    for (int i = 0; i < p; i++) {
        const long long first = (long long)side->displs[i] * size;
        if (first < INT_MIN || first + (long long)side->counts[i] * size > INT_MAX)
            return false;
    }
    return true;
}

static int run(const struct pl_call *call)
{
    int rc, p, rank, most = 0;
    PL_TRY(pl_ranks(call, &p, &rank));

    const struct pl_side side = pl_recv_side(call);
    const bool direct = pl_dense(side.type) && fits(&side, p);
    const bool in_place = call->sendbuf == MPI_IN_PLACE;
    struct pl_part *parts = pl_part_tables(call->comm, p, 1);
    int *counts = pl_scratch(call->comm, PL_SLOT_WORK, 2 * (size_t)p * sizeof *counts);
    PL_NEED(call, parts && counts);
    int *first = counts + p;
    PL_TRY(pl_parts(call->comm, &side, p, !direct, PL_SLOT_RECV, parts));
    char *base = direct ? call->recvbuf : parts[0].at;
    const void *own = NULL;
    if (in_place) {
        PL_TRY(pl_parts_pack(call->comm, &side, rank, 1, parts));
    } else {
        const struct pl_block block = pl_own_block(call, rank);
        PL_TRY(pl_block_bytes(&block, PL_SLOT_SEND, call->comm, &own));
    }
    for (int i = 0; i < p; i++)
        most = parts[i].bytes > most ? parts[i].bytes : most;

    const int pieces = pl_pieces(call, most);
    for (int j = 0; j < pieces; j++) {
        for (int i = 0; i < p; i++) {
            const struct pl_piece piece = pl_piece(parts[i].bytes, pieces, j);
            counts[i] = piece.count;
            first[i] = (int)(parts[i].at - base) + piece.first;
        }
        const int mine = pl_piece(parts[rank].bytes, pieces, j).first;
        PL_TRY(pl_inner_Allgatherv(in_place ? MPI_IN_PLACE : (const char *)own + mine, counts[rank],
                                   MPI_BYTE, base, counts, first, MPI_BYTE, call->comm, call));
    }
    PL_TRY(pl_parts_unpack(call->comm, &side, p, parts));
out:
    return rc;
}

PL_DESCRIBE(PL_MOCKUP, allgatherv, allgatherv_as_split, run,
            "several calls on parts of every block (GL2)", .scratch_volumes = 2,
            .parameters = {PL_PIECES});
