/* Split-robustness as a variant; see split.h. */
#include "split.h"

int pl_pieces(const struct pl_call *call, int count)
{
    const int most = count > 0 ? count : 1;
    return call->values[0] < most ? call->values[0] : most;
}

struct pl_piece pl_piece(int count, int pieces, int j)
{
    const int rest = count % pieces;
    return (struct pl_piece){count / pieces * j + (j < rest ? j : rest),
                             count / pieces + (j < rest)};
}

void pl_piece_blocks(int *counts, int *first, int p, int n, int unused)
{
    (void)unused;
    for (int i = 0; i < p; i++) {
        const struct pl_piece block = pl_piece(n, p, i);
        counts[i] = block.count;
        first[i] = block.first;
    }
}

int pl_split_elements(const struct pl_call *call)
{
    int rc = MPI_SUCCESS;
    const int pieces = pl_pieces(call, call->recvcount);
    struct pl_call part = *call;
    for (int j = 0; j < pieces; j++) {
        const struct pl_piece piece = pl_piece(call->recvcount, pieces, j);
        part.recvcount = piece.count;
        part.recvbuf = pl_at(call->recvbuf, piece.first, call->recvtype);
        if (call->sendbuf != MPI_IN_PLACE)
            part.sendbuf = pl_at(call->sendbuf, piece.first, call->recvtype);
        PL_TRY(pl_inner_part(&part, call));
    }
out:
    return rc;
}
