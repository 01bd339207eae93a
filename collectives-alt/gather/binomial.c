/* Gather on a binomial tree: each rank collects the blocks of its subtree and passes them on in one
 * message, so the root receives ceil(log2 p) messages instead of p - 1.
 *
 * Source: case study 1 of Hunold, Carpen-Amarie, Luebbe, Traeff, EuroMPI 2016 (section 5.2).
 * Cost: ceil(log2 p) a + (p-1)/p n b.
 * Restrictions: none; any root, any layout.
 * Messages: one from every rank but the root, on the private communicator.
 * Scratch: the subtree's blocks on inner ranks, and at the root for a subtree that cannot be
 * received in place (derived type, or ranks that wrap around p - 1): at most n/2 bytes.
 *
 * Ranks are counted from the root: v = (rank - root) mod p. The subtree of v with lowest set bit m
 * (m >= p for the root) is v .. v + m - 1, as far as these exist. */
#include "tools.h"

enum { TAG = 1 };

/* Blocks first .. first + count - 1, counted from the root, out of `packed` into recvbuf. */
static int unpack_range(const struct pl_call *call, const char *packed, int first, int count,
                        int bytes, int p)
{
    int rc = MPI_SUCCESS;
    while (count > 0) {
        const int rank = (first + call->root) % p;
        const int run = count < p - rank ? count : p - rank;
        PL_TRY(pl_unpack(packed, run * bytes,
                         pl_at(call->recvbuf, (long long)rank * call->recvcount, call->recvtype),
                         bytes > 0 ? run * call->recvcount : 0, call->recvtype, call->comm));
        packed += (size_t)run * (size_t)bytes;
        first += run;
        count -= run;
    }
out:
    return rc;
}

static int run_root(const struct pl_call *call, MPI_Comm tree, int p)
{
    int rc = MPI_SUCCESS;
    const struct pl_block block = pl_own_block(call, call->root);
    const bool dense = pl_dense(call->recvtype);
    char *packed = NULL;
    const void *own;

    if (call->sendbuf != MPI_IN_PLACE) {
        PL_TRY(pl_block_bytes(&block, PL_SLOT_SEND, call->comm, &own));
        PL_TRY(unpack_range(call, own, 0, 1, block.bytes, p));
    }
    for (int m = 1; m < p; m *= 2) {
        const int count = m < p - m ? m : p - m;
        const int rank = (m + call->root) % p;
        if (dense && rank + count <= p) {
            char *blocks = (char *)call->recvbuf + (size_t)rank * (size_t)block.bytes;
            PL_TRY(pl_raise(call->comm, PL_MPI(Recv)(blocks, count * block.bytes, MPI_BYTE, rank,
                                                     TAG, tree, MPI_STATUS_IGNORE)));
            continue;
        }
        packed = pl_scratch(call->comm, PL_SLOT_RECV, (size_t)count * (size_t)block.bytes);
        if (!packed)
            return pl_raise(call->comm, MPI_ERR_NO_MEM);
        PL_TRY(pl_raise(call->comm, PL_MPI(Recv)(packed, count * block.bytes, MPI_BYTE, rank, TAG,
                                                 tree, MPI_STATUS_IGNORE)));
        PL_TRY(unpack_range(call, packed, m, count, block.bytes, p));
    }
out:
    return rc;
}

static int run_other(const struct pl_call *call, MPI_Comm tree, int p, int rank)
{
    int rc = MPI_SUCCESS;
    const struct pl_block block = pl_own_block(call, rank);
    const int v = (rank - call->root + p) % p;
    const int lowest = v & -v;
    const int count = lowest < p - v ? lowest : p - v;
    const int parent = (v - lowest + call->root) % p;
    const void *subtree;

    if (count == 1) {
        PL_TRY(pl_block_bytes(&block, PL_SLOT_SEND, call->comm, &subtree));
    } else {
        char *blocks = pl_scratch(call->comm, PL_SLOT_SEND, (size_t)count * (size_t)block.bytes);
        if (!blocks)
            return pl_raise(call->comm, MPI_ERR_NO_MEM);
        PL_TRY(pl_pack(block.buf, block.count, block.type, blocks, block.bytes, call->comm));
        for (int m = 1; m < count; m *= 2) {
            const int below = m < count - m ? m : count - m;
            const int child = (v + m + call->root) % p;
            PL_TRY(pl_raise(call->comm, PL_MPI(Recv)(blocks + (size_t)m * (size_t)block.bytes,
                                                     below * block.bytes, MPI_BYTE, child, TAG,
                                                     tree, MPI_STATUS_IGNORE)));
        }
        subtree = blocks;
    }
    PL_TRY(pl_raise(call->comm,
                    PL_MPI(Send)(subtree, count * block.bytes, MPI_BYTE, parent, TAG, tree)));
out:
    return rc;
}

static int run(const struct pl_call *call)
{
    int rc, p, rank;
    MPI_Comm tree;
    PL_TRY(PMPI_Comm_size(call->comm, &p));
    PL_TRY(PMPI_Comm_rank(call->comm, &rank));
    PL_TRY(pl_private(call->comm, &tree));
    if (rank == call->root)
        PL_TRY(run_root(call, tree, p));
    else
        PL_TRY(run_other(call, tree, p, rank));
out:
    return rc;
}

const struct pl_variant pl_gather_binomial = {
    .name = "gather_binomial",
    .function = PL_FN_gather,
    .kind = PL_ALGORITHM,
    .restrictions = PL_ANY,
    .summary = "binomial tree, ceil(log2 p) rounds (case study 1)",
    .scratch_volumes = 2,
    .run = run,
};
