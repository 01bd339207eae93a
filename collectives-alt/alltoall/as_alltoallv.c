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
    int rc, p, size;
    PL_TRY(PMPI_Comm_size(call->comm, &p));
    PL_TRY(PMPI_Type_size(call->recvtype, &size));

    const int block = call->recvcount * size, n = p * block;
    const bool in_place = call->sendbuf == MPI_IN_PLACE;
    int *counts, *first;
    PL_TRY(pl_equal_tables(call, p, block, &counts, &first));
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
    PL_TRY(PL_MPI(Alltoallv)(out_blocks, counts, first, MPI_BYTE, in_blocks, counts, first,
                             MPI_BYTE, call->comm));
    PL_TRY(pl_deliver(call, in_blocks, n, p));
out:
    return rc;
}

PL_DESCRIBE(PL_MOCKUP, alltoall, alltoall_as_alltoallv, run, "Alltoallv with equal counts",
            .scratch_volumes = 2);
