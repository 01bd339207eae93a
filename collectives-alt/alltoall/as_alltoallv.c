/* Alltoall as Alltoallv with p equal counts.
 *
 * Source: Hunold, Carpen-Amarie, "Autotuning MPI Collectives using Performance Guidelines", HPC
 * Asia 2018.
 * Cost: Alltoallv(n); pairwise (p-1) a + (p-1)/p n b.
 * Restrictions: none.
 * Scratch: 2 p integers; n bytes for each derived type. */
#include "tools.h"

static int run(const struct pl_call *call)
{
    int rc, p, rank;
    PL_TRY(pl_ranks(call, &p, &rank));

    const int block = call->recvcount * pl_size_of(call->recvtype), n = p * block;
    const bool in_place = call->sendbuf == MPI_IN_PLACE;
    const int *counts = pl_tables(call, p, pl_equal_blocks, block, 0);
    PL_NEED(call, counts);
    const int *first = counts + p;
    const void *out_blocks = MPI_IN_PLACE;
    void *in_blocks;
    PL_TRY(pl_landing(call, n, PL_SLOT_RECV, &in_blocks));
    if (!in_place && n > 0) {
        const struct pl_block whole = {call->sendbuf, p * call->sendcount, call->sendtype, n};
        PL_TRY(pl_block_bytes(&whole, PL_SLOT_SEND, call->comm, &out_blocks));
    } else if (n > 0 && in_blocks != call->recvbuf) {
        PL_TRY(
            pl_pack(call->recvbuf, p * call->recvcount, call->recvtype, in_blocks, n, call->comm));
    }
    PL_TRY(pl_inner_Alltoallv(out_blocks, counts, first, MPI_BYTE, in_blocks, counts, first,
                              MPI_BYTE, call->comm, call));
    PL_TRY(pl_deliver(call, in_blocks, n, p));
out:
    return rc;
}

PL_DESCRIBE(PL_MOCKUP, alltoall, alltoall_as_alltoallv, run, "Alltoallv with equal counts",
            .scratch_volumes = 2);
