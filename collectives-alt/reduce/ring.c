/* Reduce on a ring: reduce-scatter in p - 1 steps, then each rank sends its block to the root.
 *
 * Source: case study 2 of Hunold, Carpen-Amarie, Luebbe, Traeff, EuroMPI 2016 (section 5.3); the
 * ring is that of Patarasuk and Yuan, JPDC 69(2), 2009. Cost: 2 (p-1) a + 2 (p-1)/p n b + (p-1)/p n
 * g. Restrictions: the operation must be commutative, since block i is reduced in the order i + 1,
 * …, i. Messages: p - 1 to the next rank, one to the root, on the private communicator; blocks
 * differ by at most one element, and empty ones are not sent. Scratch: two blocks, and p requests
 * at the root, kept on the communicator: memory allocated in every call costs more than the
 * algorithm gains. */
#include "tools.h"

enum { TAG_RING = 2, TAG_ROOT = 3 };

static int block_first(int n, int p, int i)
{
    return n / p * i + (i < n % p ? i : n % p);
}

static int block_count(int n, int p, int i)
{
    return n / p + (i < n % p);
}

/* After step s rank r holds the sum of s + 2 contributions to block r - s - 2 (mod p); what it
 * received moves on in the next step, so two buffers take turns. Returns the buffer that holds
 * block r, complete. */
static int ring(const struct pl_call *call, MPI_Comm peers, int p, int rank, const void **block)
{
    int rc = MPI_SUCCESS;
    const MPI_Datatype type = call->recvtype;
    const int n = call->recvcount, most = block_count(n, p, 0);
    const int next = (rank + 1) % p, previous = (rank + p - 1) % p;
    const void *operands = pl_operand(call);
    void *incoming[2] = {pl_scratch_elements(call->comm, PL_SLOT_SEND, most, type),
                         pl_scratch_elements(call->comm, PL_SLOT_RECV, most, type)};
    if (!incoming[0] || !incoming[1])
        return pl_raise(call->comm, MPI_ERR_NO_MEM);

    *block = pl_at(operands, block_first(n, p, previous), type);
    for (int step = 0; step < p - 1; step++) {
        const int out = (rank - step - 1 + p) % p, in = (rank - step - 2 + 2 * p) % p;
        const int send = block_count(n, p, out), receive = block_count(n, p, in);
        void *sum = incoming[step % 2];
        PL_TRY(pl_raise(call->comm,
                        PL_MPI(Sendrecv)(*block, send, type, send ? next : MPI_PROC_NULL, TAG_RING,
                                         sum, receive, type, receive ? previous : MPI_PROC_NULL,
                                         TAG_RING, peers, MPI_STATUS_IGNORE)));
        PL_TRY(PL_MPI(Reduce_local)(pl_at(operands, block_first(n, p, in), type), sum, receive,
                                    type, call->op));
        *block = sum;
    }
out:
    return rc;
}

/* Gatherv to the root: direct receives, posted when its own operands are no longer needed. */
static int collect(const struct pl_call *call, MPI_Comm peers, int p, const void *block)
{
    int rc = MPI_SUCCESS, pending = 0;
    const MPI_Datatype type = call->recvtype;
    const int n = call->recvcount, root = call->root;
    MPI_Request *requests = pl_scratch(call->comm, PL_SLOT_AUX, (size_t)p * sizeof *requests);
    if (!requests)
        return pl_raise(call->comm, MPI_ERR_NO_MEM);
    for (int i = 0; i < p; i++) {
        const int count = block_count(n, p, i);
        if (i == root || count == 0)
            continue;
        PL_TRY(pl_raise(call->comm,
                        PL_MPI(Irecv)(pl_at(call->recvbuf, block_first(n, p, i), type), count, type,
                                      i, TAG_ROOT, peers, &requests[pending])));
        pending++;
    }
    PL_TRY(pl_copy(block, pl_at(call->recvbuf, block_first(n, p, root), type),
                   block_count(n, p, root), type, call->comm));
    PL_TRY(pl_raise(call->comm, PL_MPI(Waitall)(pending, requests, MPI_STATUSES_IGNORE)));
out:
    return rc;
}

static int run(const struct pl_call *call)
{
    int rc, p, rank;
    MPI_Comm peers;
    const void *block = NULL;
    PL_TRY(PMPI_Comm_size(call->comm, &p));
    PL_TRY(PMPI_Comm_rank(call->comm, &rank));
    if (p == 1)
        return call->sendbuf == MPI_IN_PLACE ? MPI_SUCCESS
                                             : pl_copy(call->sendbuf, call->recvbuf,
                                                       call->recvcount, call->recvtype, call->comm);
    PL_TRY(pl_private(call->comm, &peers));
    PL_TRY(ring(call, peers, p, rank, &block));
    const int count = block_count(call->recvcount, p, rank);
    if (rank == call->root)
        PL_TRY(collect(call, peers, p, block));
    else if (count > 0)
        PL_TRY(pl_raise(call->comm,
                        PL_MPI(Send)(block, count, call->recvtype, call->root, TAG_ROOT, peers)));
out:
    return rc;
}

const struct pl_variant pl_reduce_ring = {
    .name = "reduce_ring",
    .function = PL_FN_reduce,
    .kind = PL_ALGORITHM,
    .restrictions = PL_COMMUTATIVE,
    .summary = "reduce-scatter on a ring, then Gatherv to the root (case study 2)",
    .scratch_volumes = 3,
    .run = run,
};
