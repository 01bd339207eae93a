/* Blocks of the data movers (Gather, Allgather): bytes in, bytes out.
 *
 * Ranks may describe the same signature by different datatypes, and libraries that cut messages
 * into whole elements then cut them differently. So mock-ups move bytes: every rank passes the same
 * count of MPI_BYTE to the inner function, straight from the user's memory where the type is dense,
 * packed where it is not. No layout is refused. The ranks must have equal architectures. */
#include "tools.h"

#include <string.h>

struct pl_block pl_own_block_in_place(const struct pl_call *call, int rank)
{
    const long long first = (long long)rank * call->recvcount;
    return (struct pl_block){pl_at(call->recvbuf, first, call->recvtype), call->recvcount,
                             call->recvtype, call->recvcount * pl_size_of(call->recvtype)};
}

int pl_block_packed(const struct pl_block *block, int slot, MPI_Comm comm, const void **bytes)
{
    if (pl_dense(block->type))
        return MPI_SUCCESS;
    void *packed = pl_scratch(comm, slot, (size_t)block->bytes);
    if (!packed)
        return pl_raise(comm, MPI_ERR_NO_MEM);
    *bytes = packed;
    return pl_pack(block->buf, block->count, block->type, packed, block->bytes, comm);
}

int pl_landing_found(const struct pl_call *call, int bytes, int slot, void **landing)
{
    if (!pl_dense(call->recvtype))
        *landing = pl_scratch(call->comm, slot, (size_t)bytes);
    return *landing || bytes == 0 ? MPI_SUCCESS : pl_raise(call->comm, MPI_ERR_NO_MEM);
}

int pl_deliver_packed(const struct pl_call *call, const void *landing, int bytes, int p)
{
    if (bytes == 0)
        return MPI_SUCCESS;
    return pl_unpack(landing, bytes, call->recvbuf, p * call->recvcount, call->recvtype,
                     call->comm);
}

void pl_equal_blocks(int *counts, int *first, int p, int length, int unused)
{
    (void)unused;
    for (int i = 0; i < p; i++) {
        counts[i] = length;
        first[i] = i * length;
    }
}

void pl_one_block(int *counts, int *first, int p, int rank, int length)
{
    memset(counts, 0, (size_t)p * sizeof *counts);
    memset(first, 0, (size_t)p * sizeof *first);
    counts[rank] = length;
}

void pl_same_block(int *counts, int *first, int p, int length, int unused)
{
    (void)unused;
    memset(first, 0, (size_t)p * sizeof *first);
    for (int i = 0; i < p; i++)
        counts[i] = length;
}

const int *pl_tables_filled(const struct pl_call *call, int p, pl_fill *write, int x, int y)
{
    struct pl_kept *kept = pl_kept_on(call->comm);
    int *counts = pl_scratch(call->comm, PL_SLOT_TABLES, 2 * (size_t)p * sizeof *counts);
    if (!kept || !counts)
        return NULL;
    write(counts, counts + p, p, x, y);
    kept->now->fill = write;
    kept->now->x = x;
    kept->now->y = y;
    return counts;
}
