/* Bcast as Scatter of p blocks, then Allgather.
 *
 * Source: guideline GL10 of Hunold, Carpen-Amarie, Luebbe, Traeff, Euro-Par 2016, appendix A.
 * Cost: Scatter(n) + Allgather(n); with the best algorithms 2 ceil(log2 p) a + 2 (p-1)/p n b.
 * Restrictions: none.
 * Scratch: none if p divides n and the type is dense; else n bytes, rounded up to p equal blocks.
 */
#include "tools.h"

#include <string.h>

static int run(const struct pl_call *call)
{
    int rc, p, rank;
    PL_TRY(pl_ranks(call, &p, &rank));

    const int n = (int)pl_volume(call), block = n / p + (n % p > 0);
    const size_t padded = (size_t)p * (size_t)block;
    const bool root = rank == call->root;
    const bool in_place = n % p == 0 && pl_dense(call->recvtype);
    char *all = in_place ? call->recvbuf : pl_scratch(call->comm, PL_SLOT_RECV, padded);
    PL_NEED(call, all || n == 0);
    if (root && !in_place) {
        PL_TRY(pl_pack(call->recvbuf, call->recvcount, call->recvtype, all, n, call->comm));
        memset(all + n, 0, padded - (size_t)n);
    }

    void *mine = root ? MPI_IN_PLACE : (n > 0 ? all + (size_t)rank * (size_t)block : all);
    PL_TRY(pl_inner_Scatter(all, block, MPI_BYTE, mine, block, MPI_BYTE, call->root, call->comm,
                            call));
    PL_TRY(
        pl_inner_Allgather(MPI_IN_PLACE, block, MPI_BYTE, all, block, MPI_BYTE, call->comm, call));
    if (!root && !in_place)
        PL_TRY(pl_unpack(all, n, call->recvbuf, call->recvcount, call->recvtype, call->comm));
out:
    return rc;
}

PL_DESCRIBE(PL_MOCKUP, bcast, bcast_as_scatter_plus_allgather, run,
            "Scatter of p blocks, then Allgather (GL10)", .scratch_volumes = 1);
