/* Reduce on a chain: segments pass from rank to rank, each adds its own operands.
 *
 * Source: the chain (pipeline) of Open MPI, Pjesivac-Grbovic et al., Cluster Computing 10, 2007.
 * Cost for m segments: (p + m - 2) (a + n/m b + n/m g).
 * Restrictions: none. A commutative operation has one chain, which wraps around and ends at the
 * root. Any other keeps its order: the ranks above the root send down to it and those below send
 * up, so that it adds twice.
 * Parameter: segment_bytes.
 * Messages: one a segment from every rank but the root, on the private communicator.
 * Scratch: two segments from each side, one more where operands must be copied. */
#include "parameters.h"
#include "vectors.h"

enum { TAG = 7 };

/* A neighbour that sends to this rank, and room for two segments. */
struct side {
    int rank; /* MPI_PROC_NULL: none */
    void *room;
    MPI_Request request[2];
};

struct chain {
    const struct pl_call *call;
    MPI_Comm peers;
    int to; /* MPI_PROC_NULL at the root */
    int segment;
    bool commutes, direct; /* what comes from above goes to recvbuf */
    struct side above, below;
    void *copy; /* of a segment of the operands, which takes what comes from below */
};

static int start(struct chain *chain, const struct pl_call *call)
{
    int rc, p, rank, commutes;
    const int root = call->root;
    PL_TRY(PMPI_Comm_size(call->comm, &p));
    PL_TRY(PMPI_Comm_rank(call->comm, &rank));
    PL_TRY(PMPI_Op_commutative(call->op, &commutes));
    *chain = (struct chain){.call = call,
                            .to = MPI_PROC_NULL,
                            .segment = pl_segment(call, call->values[0], call->recvcount),
                            .commutes = commutes,
                            .above.rank = MPI_PROC_NULL,
                            .below.rank = MPI_PROC_NULL};
    PL_TRY(pl_private(call->comm, &chain->peers));
    if (commutes) {
        if ((rank + 1) % p != root)
            chain->above.rank = (rank + 1) % p;
        if (rank != root)
            chain->to = (rank + p - 1) % p;
    } else {
        if (rank >= root && rank < p - 1)
            chain->above.rank = rank + 1;
        if (rank <= root && rank > 0)
            chain->below.rank = rank - 1;
        if (rank != root)
            chain->to = rank > root ? rank - 1 : rank + 1;
    }
    chain->direct = rank == root && call->sendbuf != MPI_IN_PLACE;
out:
    return rc;
}

static int rooms(struct chain *chain)
{
    const struct pl_call *call = chain->call;
    const int n = call->recvcount;
    const int two = chain->segment < n - chain->segment ? 2 * chain->segment : n;
    const bool above = chain->above.rank != MPI_PROC_NULL && !chain->direct;
    const bool below = chain->below.rank != MPI_PROC_NULL;
    if (above)
        chain->above.room = pl_scratch_elements(call->comm, PL_SLOT_SEND, two, call->recvtype);
    if (below) {
        chain->below.room = pl_scratch_elements(call->comm, PL_SLOT_RECV, two, call->recvtype);
        chain->copy = pl_scratch_elements(call->comm, PL_SLOT_WORK, chain->segment, call->recvtype);
    }
    if ((above && !chain->above.room) || (below && (!chain->below.room || !chain->copy)))
        return pl_raise(call->comm, MPI_ERR_NO_MEM);
    return MPI_SUCCESS;
}

static struct pl_range segment(const struct chain *chain, int i)
{
    const int n = chain->call->recvcount;
    const long long first = (long long)i * chain->segment;
    const int left = first < n ? n - (int)first : 0;
    return (struct pl_range){(int)first, left < chain->segment ? left : chain->segment};
}

static void *room_of(const struct chain *chain, const struct side *side, int i)
{
    const struct pl_call *call = chain->call;
    if (side == &chain->above && chain->direct)
        return pl_at(call->recvbuf, segment(chain, i).first, call->recvtype);
    return pl_at(side->room, i % 2 ? chain->segment : 0, call->recvtype);
}

static int post(const struct chain *chain, struct side *side, int i)
{
    const struct pl_call *call = chain->call;
    side->request[i % 2] = MPI_REQUEST_NULL;
    if (side->rank == MPI_PROC_NULL || segment(chain, i).count == 0)
        return MPI_SUCCESS;
    return pl_raise(call->comm,
                    PL_MPI(Irecv)(room_of(chain, side, i), segment(chain, i).count, call->recvtype,
                                  side->rank, TAG, chain->peers, &side->request[i % 2]));
}

static int wait(const struct chain *chain, struct side *side, int i)
{
    return pl_raise(chain->call->comm, PL_MPI(Wait)(&side->request[i % 2], MPI_STATUS_IGNORE));
}

/* Segment i of the operands, with what comes in behind it and in front of it, leaves. `is_sum`:
 * `sum` is memory that may be written; its address can be NULL, with MPI_BOTTOM. */
static int step(struct chain *chain, int i)
{
    int rc;
    const struct pl_call *call = chain->call;
    const MPI_Datatype type = call->recvtype;
    const struct pl_range range = segment(chain, i);
    const bool root = chain->to == MPI_PROC_NULL;
    void *own = pl_at(pl_operand(call), range.first, type), *sum = own;
    bool is_sum = root && call->sendbuf == MPI_IN_PLACE && chain->commutes;

    PL_TRY(wait(chain, &chain->above, i));
    if (chain->above.rank != MPI_PROC_NULL) {
        void *above = room_of(chain, &chain->above, i);
        PL_TRY(pl_combine(call, is_sum ? above : own, is_sum ? sum : above, range.count));
        sum = is_sum ? sum : above;
        is_sum = true;
    }
    PL_TRY(wait(chain, &chain->below, i));
    if (chain->below.rank != MPI_PROC_NULL) {
        if (!is_sum) {
            sum = chain->copy;
            PL_TRY(pl_copy(own, sum, range.count, type, call->comm));
        }
        PL_TRY(pl_combine(call, room_of(chain, &chain->below, i), sum, range.count));
    }
    if (!root) {
        PL_TRY(pl_raise(call->comm,
                        PL_MPI(Send)(sum, range.count, type, chain->to, TAG, chain->peers)));
    } else {
        void *result = pl_at(call->recvbuf, range.first, type);
        if (sum != result)
            PL_TRY(pl_copy(sum, result, range.count, type, call->comm));
    }
out:
    return rc;
}

static int run(const struct pl_call *call)
{
    int rc, p;
    struct chain chain;
    PL_TRY(PMPI_Comm_size(call->comm, &p));
    if (p == 1)
        return pl_alone(call);
    PL_TRY(start(&chain, call));
    PL_TRY(rooms(&chain));
    PL_TRY(post(&chain, &chain.above, 0));
    PL_TRY(post(&chain, &chain.below, 0));
    for (int i = 0; segment(&chain, i).count > 0; i++) {
        PL_TRY(post(&chain, &chain.above, i + 1));
        PL_TRY(post(&chain, &chain.below, i + 1));
        PL_TRY(step(&chain, i));
    }
out:
    return rc;
}

const struct pl_variant pl_reduce_chain = {
    .name = "reduce_chain",
    .function = PL_FN_reduce,
    .kind = PL_ALGORITHM,
    .restrictions = PL_ANY,
    .summary = "segments along a chain of ranks (Open MPI)",
    .parameters = {PL_SEGMENT_BYTES(32768, "bytes that one message carries", 1024, 4096, 16384,
                                    65536, 262144)},
    .scratch_volumes = 4,
    .run = run,
};
