/* Barrier by recursive doubling: in round k ranks 2^k apart tell each other. Ranks beyond a power
 * of two report to a partner first and are released by it at the end.
 *
 * Source: Thakur, Rabenseifner, Gropp, IJHPCA 19(1), 2005, section 4.5 (their Allreduce, without
 * data).
 * Cost: log2 p a; p not a power of two: (floor(log2 p) + 2) a.
 * Messages: empty ones, one a round and direction, on the private communicator. */
#include "tools.h"

enum { TAG_FOLD = PL_OWN_TAG, TAG_ROUND };

static int run(const struct pl_call *call)
{
    int rc, p, rank, q = 1;
    MPI_Comm peers;
    PL_TRY(pl_ranks(call, &p, &rank));
    PL_TRY(pl_private(call->comm, &peers));
    while (q <= p / 2)
        q *= 2;
    const int partner = rank < q ? rank + q : rank - q;
    if (rank >= q) {
        PL_TRY(pl_peer_send(call, NULL, 0, MPI_BYTE, partner, TAG_FOLD, peers));
        PL_TRY(pl_peer_recv(call, NULL, 0, MPI_BYTE, partner, TAG_FOLD, peers));
        return rc;
    }
    if (partner < p)
        PL_TRY(pl_peer_recv(call, NULL, 0, MPI_BYTE, partner, TAG_FOLD, peers));
    for (int m = 1; m < q; m *= 2)
        PL_TRY(pl_peer_sendrecv(call, NULL, 0, MPI_BYTE, rank ^ m, TAG_ROUND, NULL, 0, MPI_BYTE,
                                rank ^ m, TAG_ROUND, peers));
    if (partner < p)
        PL_TRY(pl_peer_send(call, NULL, 0, MPI_BYTE, partner, TAG_FOLD, peers));
out:
    return rc;
}

PL_DESCRIBE(PL_ALGORITHM, barrier, barrier_recursive_doubling, run,
            "ranks 1, 2, 4, … apart tell each other (Thakur, Rabenseifner, Gropp 2005)");
