/* Bcast as a binomial scatter of blocks and an Allgather by recursive doubling.
 *
 * Source: Thakur, Rabenseifner, Gropp, IJHPCA 19(1), 2005, medium messages.
 * Cost: 2 log2 p a + 2 (p-1)/p n b; when p is no power of two, with q the next one below, 2 log2 q
 * a + 2 (q-1)/q n b, and a + n b for the rest.
 * Restrictions: none; any root, any layout, any n: the last blocks are short or empty, and what is
 * empty is not sent.
 * Messages: at most 2 log2 q + 1 from a rank. Only the first q ranks, counted from the root,
 * exchange blocks; rank v < p - q sends all of them to rank q + v in the end.
 * Scratch: n bytes on ranks with a derived type. */
#include "bcast.h"

enum { TAG = PL_OWN_TAG, TAG_REST };

/* Before the exchange with v xor m a rank has the m blocks from v - v mod m on, after it 2 m. */
static int double_up(const struct pl_call *call, const struct pl_bcast *bcast, int q)
{
    int rc = MPI_SUCCESS;
    for (int m = 1; m < q; m *= 2) {
        const int partner = bcast->v ^ m, rank = pl_to_rank(partner, bcast->root, bcast->p);
        const int mine = bcast->v - bcast->v % m, theirs = partner - partner % m;
        const int out = pl_bcast_cut(bcast, q, mine), in = pl_bcast_cut(bcast, q, theirs);
        const int send = pl_bcast_cut(bcast, q, mine + m) - out;
        const int receive = pl_bcast_cut(bcast, q, theirs + m) - in;
        PL_TRY(pl_peer_sendrecv(call, bcast->bytes + out, send, MPI_BYTE,
                                send ? rank : MPI_PROC_NULL, TAG, bcast->bytes + in, receive,
                                MPI_BYTE, receive ? rank : MPI_PROC_NULL, TAG, bcast->peers));
    }
out:
    return rc;
}

static int pass_on(const struct pl_call *call, const struct pl_bcast *bcast, int q)
{
    int rc = MPI_SUCCESS;
    if (bcast->v < bcast->p - q)
        PL_TRY(pl_peer_send(call, bcast->bytes, bcast->n, MPI_BYTE,
                            pl_to_rank(bcast->v + q, bcast->root, bcast->p), TAG_REST,
                            bcast->peers));
    else if (bcast->v >= q)
        PL_TRY(pl_peer_recv(call, bcast->bytes, bcast->n, MPI_BYTE,
                            pl_to_rank(bcast->v - q, bcast->root, bcast->p), TAG_REST,
                            bcast->peers));
out:
    return rc;
}

static int run(const struct pl_call *call)
{
    int rc;
    struct pl_bcast bcast;
    PL_TRY(pl_bcast_begin(call, &bcast));
    int q = 1;
    while (q <= bcast.p / 2)
        q *= 2;
    if (bcast.n > 0) {
        if (bcast.v < q) {
            PL_TRY(pl_bcast_scatter(call, &bcast, q));
            PL_TRY(double_up(call, &bcast, q));
        }
        PL_TRY(pass_on(call, &bcast, q));
    }
    PL_TRY(pl_bcast_end(call, &bcast));
out:
    return rc;
}

PL_DESCRIBE(PL_ALGORITHM, bcast, bcast_scatter_recursive_doubling_allgather, run,
            "binomial scatter, then Allgather by recursive doubling", .scratch_volumes = 1);
