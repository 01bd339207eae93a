/* Collectives that move blocks through the shared memory of a node (shared.h), in pieces. Blocks
 * are bytes: those of other datatypes than dense ones are packed in scratch memory first. */
#include "shared.h"

/* Bytes of a piece of each of `blocks` blocks that go in one step. */
static int piece_of(int blocks)
{
    return blocks < PL_STEP_BYTES ? PL_STEP_BYTES / blocks : 1;
}

static size_t least(int one, int other)
{
    return (size_t)(one < other ? one : other);
}

int pl_shared_barrier(const struct pl_call *call)
{
    int rc;
    struct pl_shared *shared;
    PL_TRY(pl_shared(call, &shared));
    const struct pl_shared_step step = pl_step_begin(shared, 0);
    pl_step_write(shared, &step, NULL, 0);
    for (int rank = 0; rank < shared->p; rank++)
        pl_step_of(shared, &step, rank);
    pl_step_end(shared, &step);
out:
    return rc;
}

static inline void pass(struct pl_shared *shared, int root, char *bytes, size_t count)
{
    const struct pl_shared_step step = pl_step_begin(shared, count);
    if (shared->rank == root)
        pl_step_write(shared, &step, bytes, count);
    else
        memcpy(bytes, pl_step_of(shared, &step, root), count);
    pl_step_end(shared, &step);
}

static PL_NOT_INLINE int bcast_pieces(const struct pl_call *call)
{
    int rc;
    struct pl_shared *shared;
    PL_TRY(pl_shared(call, &shared));
    const int n = (int)pl_volume(call);
    const bool root = shared->rank == call->root, dense = pl_dense(call->recvtype);
    char *all = dense ? call->recvbuf : pl_scratch(call->comm, PL_SLOT_RECV, (size_t)n);
    PL_NEED(call, all || n == 0);
    if (root && !dense)
        PL_TRY(pl_pack(call->recvbuf, call->recvcount, call->recvtype, all, n, call->comm));
    for (int at = 0; at < n; at += PL_STEP_BYTES)
        pass(shared, call->root, all + at, least(PL_STEP_BYTES, n - at));
    if (!root && !dense)
        PL_TRY(pl_unpack(all, n, call->recvbuf, call->recvcount, call->recvtype, call->comm));
out:
    return rc;
}

int pl_shared_bcast(const struct pl_call *call)
{
    struct pl_shared *shared = pl_shared_of_all(call);
    const long long n = pl_volume(call);
    if (!shared || n <= 0 || n > PL_LINE_BYTES || pl_common_size(call->recvtype) == 0 ||
        !call->recvbuf)
        return bcast_pieces(call);
    pass(shared, call->root, call->recvbuf, (size_t)n);
    return MPI_SUCCESS;
}

/* Blocks of all ranks to those that read: the root of a Gather, all of an Allgather. `all` has the
 * own block already, or gets it from `own`. */
static void collect(struct pl_shared *shared, const struct pl_block *block, const char *own,
                    char *all, bool writes, bool reads)
{
    const size_t width = (size_t)block->bytes;
    if (reads && own != all + (size_t)shared->rank * width)
        memcpy(all + (size_t)shared->rank * width, own, width);
    for (int at = 0; at < block->bytes; at += PL_STEP_BYTES) {
        const size_t bytes = least(PL_STEP_BYTES, block->bytes - at);
        const struct pl_shared_step step = pl_step_begin(shared, bytes);
        if (writes)
            pl_step_write(shared, &step, own + at, bytes);
        for (int i = 1; reads && i < shared->p; i++) {
            const int other = (shared->rank + i) % shared->p;
            memcpy(all + (size_t)other * width + at, pl_step_of(shared, &step, other), bytes);
        }
        pl_step_end(shared, &step);
    }
}

static int gather(const struct pl_call *call, bool everywhere)
{
    int rc;
    struct pl_shared *shared;
    const void *own;
    void *all = NULL;
    PL_TRY(pl_shared(call, &shared));
    const bool reads = everywhere || shared->rank == call->root;
    const struct pl_block block = pl_own_block(call, shared->rank);
    PL_TRY(pl_block_bytes(&block, PL_SLOT_SEND, call->comm, &own));
    if (reads)
        PL_TRY(pl_landing(call, shared->p * block.bytes, PL_SLOT_RECV, &all));
    collect(shared, &block, own, all, everywhere || !reads, reads);
    if (reads)
        PL_TRY(pl_deliver(call, all, shared->p * block.bytes, shared->p));
out:
    return rc;
}

int pl_shared_gather(const struct pl_call *call)
{
    return gather(call, false);
}

int pl_shared_allgather(const struct pl_call *call)
{
    return gather(call, true);
}

/* Pieces of all blocks, one behind the other, that the ranks get which read a step. */
static void write_pieces(struct pl_shared *shared, const struct pl_shared_step *step,
                         const char *all, size_t width, size_t bytes)
{
    char *to = pl_step_own(shared, step);
    for (int rank = 0; rank < shared->p; rank++)
        memcpy(to + (size_t)rank * bytes, all + (size_t)rank * width, bytes);
    pl_step_publish(shared, step);
    pl_step_claim(shared, step, (size_t)shared->p * bytes);
}

static void read_piece(const struct pl_shared *shared, const struct pl_shared_step *step, int from,
                       char *to, size_t bytes)
{
    const char *pieces = pl_step_of(shared, step, from);
    memcpy(to, pieces + (size_t)shared->rank * bytes, bytes);
}

static PL_NOT_INLINE int scatter_pieces(const struct pl_call *call)
{
    int rc;
    struct pl_shared *shared;
    PL_TRY(pl_shared(call, &shared));
    const int n = (int)pl_volume(call), block = n / shared->p, piece = piece_of(shared->p);
    const bool root = shared->rank == call->root, kept = call->recvbuf == MPI_IN_PLACE;
    const bool packed = !kept && !pl_dense(call->recvtype);
    char *mine = packed ? pl_scratch(call->comm, PL_SLOT_RECV, (size_t)block) : call->recvbuf;
    const void *all = NULL;
    PL_NEED(call, !packed || mine);
    if (root && n > 0) {
        const struct pl_block whole = {call->sendbuf, shared->p * call->sendcount, call->sendtype,
                                       n};
        PL_TRY(pl_block_bytes(&whole, PL_SLOT_SEND, call->comm, &all));
        if (!kept)
            memcpy(mine, (const char *)all + (size_t)shared->rank * (size_t)block, (size_t)block);
    }
    for (int at = 0; at < block; at += piece) {
        const size_t bytes = least(piece, block - at);
        const struct pl_shared_step step = pl_step_begin(shared, bytes * (size_t)shared->p);
        if (root)
            write_pieces(shared, &step, (const char *)all + at, (size_t)block, bytes);
        else
            read_piece(shared, &step, call->root, mine + at, bytes);
        pl_step_end(shared, &step);
    }
    if (packed)
        PL_TRY(pl_unpack(mine, block, call->recvbuf, call->recvcount, call->recvtype, call->comm));
out:
    return rc;
}

/* Few bytes of common types are one step. */
int pl_shared_scatter(const struct pl_call *call)
{
    struct pl_shared *shared = pl_shared_of_all(call);
    const long long n = pl_volume(call);
    if (!shared || n <= 0 || n > PL_LINE_BYTES)
        return scatter_pieces(call);
    const bool root = shared->rank == call->root, kept = call->recvbuf == MPI_IN_PLACE;
    const int size = pl_common_size(root ? call->sendtype : call->recvtype);
    if (size == 0 || (root && !kept && pl_common_size(call->recvtype) == 0))
        return scatter_pieces(call);
    const size_t block = (size_t)(root ? call->sendcount : call->recvcount) * (size_t)size;
    const struct pl_shared_step step = pl_step_begin(shared, (size_t)n);
    if (root)
        pl_step_write(shared, &step, call->sendbuf, (size_t)n);
    const char *all = root ? call->sendbuf : pl_step_of(shared, &step, call->root);
    if (!kept)
        memcpy(call->recvbuf, all + (size_t)shared->rank * block, block);
    pl_step_end(shared, &step);
    return MPI_SUCCESS;
}

/* In place a piece is written before the others' pieces come to its place. */
int pl_shared_alltoall(const struct pl_call *call)
{
    int rc;
    struct pl_shared *shared;
    void *in_blocks;
    PL_TRY(pl_shared(call, &shared));
    const int p = shared->p, piece = piece_of(p);
    const int block = call->recvcount * pl_size_of(call->recvtype), n = p * block;
    const bool in_place = call->sendbuf == MPI_IN_PLACE;
    PL_TRY(pl_landing(call, n, PL_SLOT_RECV, &in_blocks));
    const void *out_blocks = in_blocks;
    if (!in_place && n > 0) {
        const struct pl_block whole = {call->sendbuf, p * call->sendcount, call->sendtype, n};
        PL_TRY(pl_block_bytes(&whole, PL_SLOT_SEND, call->comm, &out_blocks));
    } else if (n > 0 && in_blocks != call->recvbuf) {
        PL_TRY(
            pl_pack(call->recvbuf, p * call->recvcount, call->recvtype, in_blocks, n, call->comm));
    }
    for (int at = 0; at < block; at += piece) {
        const size_t bytes = least(piece, block - at);
        const struct pl_shared_step step = pl_step_begin(shared, bytes * (size_t)p);
        write_pieces(shared, &step, (const char *)out_blocks + at, (size_t)block, bytes);
        for (int i = 0; i < p; i++) {
            const int other = (shared->rank + i) % p;
            read_piece(shared, &step, other, (char *)in_blocks + (size_t)other * (size_t)block + at,
                       bytes);
        }
        pl_step_end(shared, &step);
    }
    PL_TRY(pl_deliver(call, in_blocks, n, p));
out:
    return rc;
}
