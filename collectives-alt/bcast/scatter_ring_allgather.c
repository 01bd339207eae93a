/* Bcast as a binomial scatter of p blocks and a ring that passes each block round.
 *
 * Source: van de Geijn's long-vector broadcast, as in Thakur, Rabenseifner, Gropp, IJHPCA 19(1),
 * 2005, for long messages.
 * Cost: (ceil(log2 p) + p - 1) a + 2 (p-1)/p n b.
 * Restrictions: none; any root, any layout, any n: the last blocks are short or empty, and what is
 * empty is not sent.
 * Messages: one for the scatter and p - 1 for the ring to each rank but the root.
 * Scratch: n bytes on ranks with a derived type. */
#include "bcast.h"

enum { TAG = PL_OWN_TAG };

/* In step s a rank passes on block v - s, counted from the root; the first step its own. */
static int ring(const struct pl_call *call, const struct pl_bcast *bcast)
{
    int rc = MPI_SUCCESS;
    const int p = bcast->p, v = bcast->v;
    const int next = pl_to_rank((v + 1) % p, bcast->root, p);
    const int previous = pl_to_rank((v + p - 1) % p, bcast->root, p);
    for (int step = 0; step < p - 1; step++) {
        const int out = pl_from_root(v, step, p), in = pl_from_root(v, step + 1, p);
        const int out_first = pl_bcast_cut(bcast, p, out), in_first = pl_bcast_cut(bcast, p, in);
        const int send = pl_bcast_cut(bcast, p, out + 1) - out_first;
        const int receive = pl_bcast_cut(bcast, p, in + 1) - in_first;
        PL_TRY(pl_peer_sendrecv(call, bcast->bytes + out_first, send, MPI_BYTE,
                                send ? next : MPI_PROC_NULL, TAG, bcast->bytes + in_first, receive,
                                MPI_BYTE, receive ? previous : MPI_PROC_NULL, TAG, bcast->peers));
    }
out:
    return rc;
}

static int run(const struct pl_call *call)
{
    int rc;
    struct pl_bcast bcast;
    PL_TRY(pl_bcast_begin(call, &bcast));
    if (bcast.n > 0) {
        PL_TRY(pl_bcast_scatter(call, &bcast, bcast.p));
        PL_TRY(ring(call, &bcast));
    }
    PL_TRY(pl_bcast_end(call, &bcast));
out:
    return rc;
}

PL_DESCRIBE(PL_ALGORITHM, bcast, bcast_scatter_ring_allgather, run,
            "binomial scatter of p blocks, then Allgather on a ring (van de Geijn)",
            .scratch_volumes = 1);
