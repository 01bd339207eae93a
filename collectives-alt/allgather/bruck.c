/* Allgather by the algorithm of Bruck with a radix: in round i every rank sends what it has, at
 * most radix^i blocks, to the ranks radix^i, 2 radix^i, … before it, and receives as much from
 * those behind it; any p.
 *
 * Source: Bruck, Ho, Kipnis, Upfal, Weathersby, IEEE TPDS 8(11), 1997, section 4, for a radix (the
 * ports of a rank, less one). Cost: (radix-1) ceil(log_radix p) a + (p-1)/p n b, and n bytes
 * copied; where messages to several ranks overlap, ceil(log_radix p) a. Restrictions: none.
 * Messages: at most (radix-1) ceil(log_radix p) from each rank, radix - 1 of them open at once, on
 * the private communicator.
 * Scratch: n bytes, where the own block comes first, and 2 radix requests; with a derived receive
 * type 2 n. */
#include "gathered.h"
#include "parameters.h"

#include <string.h>

enum { TAG = PL_OWN_TAG };

/* In each round the first blocks of `rotated`, at most m of them, go to the ranks m, 2 m, …,
 * (radix - 1) m before. */
static int rounds(const struct pl_call *call, const struct pl_gathered *parts, MPI_Comm peers,
                  int p, int rank, int radix, char *rotated)
{
    int rc = MPI_SUCCESS, have = pl_gathered_bytes(parts, rank);
    MPI_Request *requests = pl_requests(call->comm, 2 * (radix < p ? radix : p));
    PL_NEED(call, requests);
    for (long long m = 1; m < p; m *= radix) {
        int open = 0;
        for (long long far = m; far < p && far < m * radix; far += m) {
            const int count = (int)(m < p - far ? m : p - far);
            const int before = (int)((rank + p - far) % p), behind = (int)((rank + far) % p);
            const int out = pl_gathered_span(parts, p, rank, count);
            const int in = pl_gathered_span(parts, p, behind, count);
            PL_TRY(pl_peer_irecv(call, rotated + have, in, MPI_BYTE, behind, TAG, peers,
                                 &requests[open++]));
            PL_TRY(
                pl_peer_isend(call, rotated, out, MPI_BYTE, before, TAG, peers, &requests[open++]));
            have += in;
        }
        PL_TRY(pl_peer_wait_all(call, open, requests));
    }
out:
    return rc;
}

int pl_allgather_by_bruck(const struct pl_call *call, int radix)
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
    PL_TRY(rounds(call, &parts, peers, p, rank, radix, rotated));
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

int pl_allgather_by_bruck_of_radix(const struct pl_call *call)
{
    return pl_allgather_by_bruck(call, call->values[0]);
}

PL_DESCRIBE(PL_ALGORITHM, allgather, allgather_bruck, pl_allgather_by_bruck_of_radix,
            "rounds at distances 1, radix, radix^2, … for any p (Bruck et al. 1997)",
            .scratch_volumes = 2, .parameters = {PL_BRUCK_RADIX});
