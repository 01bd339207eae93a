/* Reduce on a chain: segments pass from rank to rank, each adds its own operands.
 *
 * Source: the chain (pipeline) of Open MPI, Pjesivac-Grbovic et al., Cluster Computing 10, 2007.
 * Cost for m segments: (p + m - 2) (a + n/m b + n/m g).
 * Restrictions: MPI's own operations, since the vector is cut; they commute, as the chain asks,
 * which begins at rank root - 1, wraps around and ends at the root.
 * Parameter: segment_bytes.
 * Messages: one a segment from every rank but the root, on the private communicator.
 * Scratch: two segments. */
#include "parameters.h"
#include "vectors.h"

enum { TAG = PL_OWN_TAG };

struct chain {
    const struct pl_call *call;
    MPI_Comm peers;
    int from, to; /* MPI_PROC_NULL: none */
    int segment;
    void *room; /* for two segments that come in; NULL: they go to recvbuf, if any do */
    MPI_Request request[2];
};

static int start(struct chain *chain, const struct pl_call *call, int p, int rank)
{
    int rc;
    const int root = call->root, n = call->recvcount;
    *chain = (struct chain){.call = call,
                            .from = (rank + 1) % p == root ? MPI_PROC_NULL : (rank + 1) % p,
                            .to = rank == root ? MPI_PROC_NULL : (rank + p - 1) % p,
                            .segment = pl_segment(call, call->values[0], n)};
    PL_TRY(pl_private(call->comm, &chain->peers));
    if (chain->from == MPI_PROC_NULL || (rank == root && call->sendbuf != MPI_IN_PLACE))
        return MPI_SUCCESS;
    const int two = chain->segment < n - chain->segment ? 2 * chain->segment : n;
    chain->room = pl_scratch_elements(call->comm, PL_SLOT_RECV, two, call->recvtype);
    PL_NEED(call, chain->room);
out:
    return rc;
}

static struct pl_range segment(const struct chain *chain, int i)
{
    const int n = chain->call->recvcount;
    const long long first = (long long)i * chain->segment;
    const int left = first < n ? n - (int)first : 0;
    return (struct pl_range){(int)first, left < chain->segment ? left : chain->segment};
}

static void *room_of(const struct chain *chain, int i)
{
    const struct pl_call *call = chain->call;
    if (!chain->room)
        return pl_at(call->recvbuf, segment(chain, i).first, call->recvtype);
    return pl_at(chain->room, i % 2 ? chain->segment : 0, call->recvtype);
}

static int post(struct chain *chain, int i)
{
    const struct pl_call *call = chain->call;
    chain->request[i % 2] = MPI_REQUEST_NULL;
    if (chain->from == MPI_PROC_NULL || segment(chain, i).count == 0)
        return MPI_SUCCESS;
    return pl_peer_irecv(call, room_of(chain, i), segment(chain, i).count, call->recvtype,
                         chain->from, TAG, chain->peers, &chain->request[i % 2]);
}

/* Segment i of the operands, with what comes in, leaves. */
static int step(struct chain *chain, int i)
{
    int rc;
    const struct pl_call *call = chain->call;
    const struct pl_range range = segment(chain, i);
    void *own = pl_at(pl_operand(call), range.first, call->recvtype), *sum = own;
    PL_TRY(pl_peer_wait(call, &chain->request[i % 2]));
    if (chain->from != MPI_PROC_NULL) {
        const bool in_place = call->sendbuf == MPI_IN_PLACE;
        void *incoming = room_of(chain, i);
        PL_TRY(pl_combine(call, in_place ? incoming : own, in_place ? own : incoming, range.count));
        sum = in_place ? own : incoming;
    }
    PL_TRY(pl_peer_send(call, sum, range.count, call->recvtype, chain->to, TAG, chain->peers));
out:
    return rc;
}

static int run(const struct pl_call *call)
{
    int rc, p, rank;
    struct chain chain;
    PL_TRY(pl_ranks(call, &p, &rank));
    if (p == 1)
        return pl_alone(call);
    PL_TRY(start(&chain, call, p, rank));
    PL_TRY(post(&chain, 0));
    for (int i = 0; segment(&chain, i).count > 0; i++) {
        PL_TRY(post(&chain, i + 1));
        PL_TRY(step(&chain, i));
    }
out:
    return rc;
}

PL_DESCRIBE(PL_ALGORITHM, reduce, reduce_chain, run, "segments along a chain of ranks (Open MPI)",
            .restrictions = PL_BUILTIN_OP, .scratch_volumes = 1,
            .parameters = {PL_SEGMENT_BYTES(32768, "bytes that one message carries", 1024, 4096,
                                            16384, 65536, 262144)});
