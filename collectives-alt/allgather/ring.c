/* Allgather on a ring: every rank passes on to the next one what it received from the previous one,
 * p - 1 times.
 *
 * Source: Thakur, Rabenseifner, Gropp, IJHPCA 19(1), 2005, section 4.1.
 * Cost: (p-1) a + (p-1)/p n b.
 * Restrictions: none.
 * Messages: p - 1 of one block from each rank to the next, on the private communicator.
 * Scratch: none; with a derived receive type n bytes. */
#include "gathered.h"

enum { TAG = PL_OWN_TAG };

int pl_allgather_on_a_ring(const struct pl_call *call)
{
    int rc, p, rank;
    MPI_Comm peers;
    struct pl_gathered parts;
    PL_TRY(pl_ranks(call, &p, &rank));
    PL_TRY(pl_private(call->comm, &peers));
    PL_TRY(pl_gathered_begin(call, p, rank, &parts));
    const int next = (rank + 1) % p, previous = (rank + p - 1) % p;
    for (int step = 0, out = rank; step < p - 1; step++) {
        const int in = (out + p - 1) % p;
        PL_TRY(pl_peer_sendrecv(call, pl_gathered_at(&parts, out), pl_gathered_bytes(&parts, out),
                                MPI_BYTE, next, TAG, pl_gathered_at(&parts, in),
                                pl_gathered_bytes(&parts, in), MPI_BYTE, previous, TAG, peers));
        out = in;
    }
    PL_TRY(pl_gathered_deliver(call, p, &parts));
out:
    return rc;
}

PL_DESCRIBE(PL_ALGORITHM, allgather, allgather_ring, pl_allgather_on_a_ring,
            "p - 1 blocks to the next rank (Thakur, Rabenseifner, Gropp 2005)",
            .scratch_volumes = 1);
