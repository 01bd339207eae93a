/* Allgatherv that chooses by the counts, which all ranks know. Less than `ring_bytes` bytes go by
 * the algorithm of Bruck, or directly from their ranks to all others where at most `direct_parts`
 * parts are not empty; more bytes go around a ring in pieces (allgatherv/pipelined_ring.c).
 *
 * Source: the choice is ours; Open MPI and MPICH choose by the sum of the counts alone. Traeff,
 * Ripke, Siebert, Balaji, Thakur, Gropp, IJHPCA 24(1), 2010, show what uneven counts cost them.
 * Cost: directly (p-1) (a + m b) for a rank with m bytes; else that of allgatherv_bruck and
 * allgatherv_pipelined_ring with pieces of 32 KiB.
 * Restrictions: none.
 * Messages: directly p - 1 from each rank whose part is not empty, in the datatypes of the call;
 * else those of the algorithm. All are on the private communicator.
 * Scratch: that of allgatherv_bruck. */
#include "everyone.h"
#include "gathered.h"
#include "parameters.h"

enum { TAG = PL_OWN_TAG, PIECE = 32768 };

static int directly(const struct pl_call *call, MPI_Comm peers, int p, int rank)
{
    int rc, open = 0;
    MPI_Request *requests = pl_requests(call->comm, 2 * p);
    PL_NEED(call, requests);
    const struct pl_block own =
        call->sendbuf == MPI_IN_PLACE ? pl_from(call, rank) : pl_to(call, rank);
    for (int i = 1; i < p; i++) {
        const int from = (rank + p - i) % p;
        const struct pl_block in = pl_from(call, from);
        if (in.count > 0) {
            PL_TRY(pl_peer_irecv(call, (void *)in.buf, in.count, in.type, from, TAG, peers,
                                 &requests[open]));
            open++;
        }
    }
    for (int i = 1; i < p && call->recvcounts[rank] > 0; i++) {
        PL_TRY(pl_peer_isend(call, own.buf, own.count, own.type, (int)(((long long)rank + i) % p),
                             TAG, peers, &requests[open]));
        open++;
    }
    PL_TRY(pl_keep_own(call, peers, rank));
    PL_TRY(pl_peer_wait_all(call, open, requests));
out:
    return rc;
}

static int run(const struct pl_call *call)
{
    int rc, p, rank, some = 0;
    MPI_Comm peers;
    PL_TRY(pl_ranks(call, &p, &rank));
    PL_TRY(pl_private(call->comm, &peers));
    const int size = pl_size_of(call->recvtype);
    for (int i = 0; i < p; i++)
        some += call->recvcounts[i] > 0;
    if (size == 0)
        return MPI_SUCCESS;
    if (pl_volume(call) >= call->values[1])
        return pl_allgather_in_pieces(call, PIECE);
    return some <= call->values[0] ? directly(call, peers, p, rank)
                                   : pl_allgather_by_bruck(call, 2);
out:
    return rc;
}

PL_DESCRIBE(PL_ALGORITHM, allgatherv, allgatherv_adaptive, run,
            "directly, by Bruck, or on a ring of pieces, as the counts are", .scratch_volumes = 2,
            .parameters = {PL_COUNTED("direct_parts", 0, 1,
                                      "parts that are not empty and go directly", 1, 2, 4),
                           PL_COUNTED("ring_bytes", 0, 65536,
                                      "volume from which on the ring is taken", 8192, 32768, 65536,
                                      262144)});
