/* Blocks of the data movers (Gather, Allgather): bytes in, bytes out.
 *
 * Ranks may describe the same signature by different datatypes, and libraries that cut messages
 * into whole elements then cut them differently. So mock-ups move bytes: every rank passes the same
 * count of MPI_BYTE to the inner function, straight from the user's memory where the type is dense,
 * packed where it is not. No layout is refused. The ranks must have equal architectures. */
#include "tools.h"

struct pl_block pl_own_block(const struct pl_call *call, int rank)
{
    struct pl_block block = {call->sendbuf, call->sendcount, call->sendtype, 0};
    int size = 0;
    if (call->sendbuf == MPI_IN_PLACE) {
        const long long first = (long long)rank * call->recvcount;
        block = (struct pl_block){pl_at(call->recvbuf, first, call->recvtype), call->recvcount,
                                  call->recvtype, 0};
    }
    PMPI_Type_size(block.type, &size);
    block.bytes = block.count * size;
    return block;
}

int pl_block_bytes(const struct pl_block *block, int slot, MPI_Comm comm, const void **bytes)
{
    *bytes = block->buf;
    if (pl_dense(block->type))
        return MPI_SUCCESS;
    void *packed = pl_scratch(comm, slot, (size_t)block->bytes);
    if (!packed)
        return pl_raise(comm, MPI_ERR_NO_MEM);
    *bytes = packed;
    return pl_pack(block->buf, block->count, block->type, packed, block->bytes, comm);
}

int pl_landing(const struct pl_call *call, int bytes, int slot, void **landing)
{
    *landing =
        pl_dense(call->recvtype) ? call->recvbuf : pl_scratch(call->comm, slot, (size_t)bytes);
    return *landing || bytes == 0 ? MPI_SUCCESS : pl_raise(call->comm, MPI_ERR_NO_MEM);
}

int pl_deliver(const struct pl_call *call, const void *landing, int bytes, int p)
{
    if (landing == call->recvbuf || bytes == 0)
        return MPI_SUCCESS;
    return pl_unpack(landing, bytes, call->recvbuf, p * call->recvcount, call->recvtype,
                     call->comm);
}

int pl_equal_tables(const struct pl_call *call, int p, int length, int **counts, int **first)
{
    *counts = pl_scratch(call->comm, PL_SLOT_AUX, 2 * (size_t)p * sizeof **counts);
    if (!*counts)
        return pl_raise(call->comm, MPI_ERR_NO_MEM);
    *first = *counts + p;
    for (int i = 0; i < p; i++) {
        (*counts)[i] = length;
        (*first)[i] = i * length;
    }
    return MPI_SUCCESS;
}
