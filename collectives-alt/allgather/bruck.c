/* Allgather by the algorithm of Bruck: in round k every rank sends what it has, at most 2^k blocks,
 * to the rank 2^k before it, and receives as much from the rank 2^k behind it; any p.
 *
 * Source: Bruck, Ho, Kipnis, Upfal, Weathersby, IEEE TPDS 8(11), 1997, section 4.
 * Cost: ceil(log2 p) a + (p-1)/p n b, and n bytes copied.
 * Restrictions: none.
 * Messages: ceil(log2 p) from each rank, on the private communicator.
 * Scratch: n bytes, where the own block comes first; with a derived receive type 2 n. */
#include "gathered.h"

#include <string.h>

enum { TAG = PL_OWN_TAG };

static int rounds(const struct pl_call *call, const struct pl_gathered *parts, MPI_Comm peers,
                  int p, int rank, char *rotated)
{
    int rc = MPI_SUCCESS, have = pl_gathered_bytes(parts, rank);
    for (int m = 1; m < p; m *= 2) {
        const int count = m < p - m ? m : p - m;
        const int before = (rank + p - m) % p, behind = (int)(((long long)rank + m) % p);
        const int out = pl_gathered_span(parts, p, rank, count);
        const int in = pl_gathered_span(parts, p, behind, count);
        PL_TRY(pl_peer_sendrecv(call, rotated, out, MPI_BYTE, before, TAG, rotated + have, in,
                                MPI_BYTE, behind, TAG, peers));
        have += in;
        if (m > p / 2)
            break;
    }
out:
    return rc;
}

int pl_allgather_by_bruck(const struct pl_call *call)
{
    int rc, p, rank;
    MPI_Comm peers;
    struct pl_gathered parts;
    PL_TRY(pl_ranks(call, &p, &rank));
    PL_TRY(pl_private(call->comm, &peers));
    PL_TRY(pl_gathered_begin(call, p, rank, &parts));

    char *rotated = pl_scratch(call->comm, PL_SLOT_WORK, (size_t)pl_gathered_span(&parts, p, 0, p));
    PL_NEED(call, rotated);
    int bytes = pl_gathered_bytes(&parts, rank);
    if (bytes > 0)
        memcpy(rotated, pl_gathered_at(&parts, rank), (size_t)bytes);
    PL_TRY(rounds(call, &parts, peers, p, rank, rotated));
    const char *from = rotated;
    for (int i = 0; i < p; i++, from += bytes) {
        const int block = rank < p - i ? rank + i : rank + i - p;
        bytes = pl_gathered_bytes(&parts, block);
        if (i > 0 && bytes > 0)
            memcpy(pl_gathered_at(&parts, block), from, (size_t)bytes);
    }
    PL_TRY(pl_gathered_deliver(call, p, &parts));
out:
    return rc;
}

PL_DESCRIBE(PL_ALGORITHM, allgather, allgather_bruck, pl_allgather_by_bruck,
            "ceil(log2 p) rounds for any p (Bruck et al. 1997)", .scratch_volumes = 2);
