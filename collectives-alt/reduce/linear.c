/* Reduce by the root alone: it receives a vector from everybody, in turn; while it adds one, the
 * next is on its way.
 *
 * Source: the linear algorithm of Open MPI (coll/basic); two receives are posted here.
 * Cost: (p-1) (a + n b + n g).
 * Restrictions: none; operands are taken from the last rank to the first, which keeps their order.
 * A commutative operation starts next to the root, which saves a copy.
 * Messages: one from every rank but the root, on the private communicator.
 * Scratch: two vectors at the root; three in place if the operation is not commutative. */
#include "vectors.h"

enum { TAG = PL_OWN_TAG };

struct sources {
    const struct pl_call *call;
    MPI_Comm peers;
    int p, first;  /* whose operands come first */
    void *room[2]; /* for what comes in, in turn */
    MPI_Request request[2];
};

static int source(const struct sources *s, int i)
{
    return (s->first - i + s->p) % s->p;
}

/* The first vector goes straight to recvbuf. */
static void *place(const struct sources *s, int i)
{
    return i == 0 ? s->call->recvbuf : s->room[i % 2];
}

static int post(struct sources *s, int i)
{
    s->request[i % 2] = MPI_REQUEST_NULL;
    if (i >= s->p || source(s, i) == s->call->root)
        return MPI_SUCCESS;
    return pl_raise(s->call->comm, PL_MPI(Irecv)(place(s, i), s->call->recvcount, s->call->recvtype,
                                                 source(s, i), TAG, s->peers, &s->request[i % 2]));
}

static int run_root(const struct pl_call *call, MPI_Comm peers, int p)
{
    int rc, commutes;
    const MPI_Datatype type = call->recvtype;
    const int n = call->recvcount;
    const bool in_place = call->sendbuf == MPI_IN_PLACE;
    PL_TRY(PMPI_Op_commutative(call->op, &commutes));
    struct sources s = {.call = call, .peers = peers, .p = p, .first = p - 1};
    if (commutes)
        s.first = in_place ? call->root : (call->root + 1) % p;
    s.room[0] = pl_scratch_elements(call->comm, PL_SLOT_SEND, n, type);
    s.room[1] = pl_scratch_elements(call->comm, PL_SLOT_RECV, n, type);
    PL_NEED(call, s.room[0] && s.room[1]);
    const void *own = pl_operand(call);
    if (in_place && s.first != call->root) {
        void *copy = pl_scratch_elements(call->comm, PL_SLOT_WORK, n, type);
        PL_NEED(call, copy);
        PL_TRY(pl_copy(own, copy, n, type, call->comm));
        own = copy;
    }

    PL_TRY(post(&s, 0));
    for (int i = 0; i < p; i++) {
        PL_TRY(post(&s, i + 1));
        PL_TRY(pl_peer_wait(call, &s.request[i % 2]));
        const bool mine = source(&s, i) == call->root;
        if (i > 0)
            PL_TRY(pl_combine(call, mine ? own : place(&s, i), call->recvbuf, n));
        else if (mine && !in_place)
            PL_TRY(pl_copy(own, call->recvbuf, n, type, call->comm));
    }
out:
    return rc;
}

static int run(const struct pl_call *call)
{
    int rc, p, rank;
    MPI_Comm peers;
    PL_TRY(pl_ranks(call->comm, &p, &rank));
    if (p == 1)
        return pl_alone(call);
    PL_TRY(pl_private(call->comm, &peers));
    if (rank == call->root)
        PL_TRY(run_root(call, peers, p));
    else
        PL_TRY(pl_peer_send(call, call->sendbuf, call->recvcount, call->recvtype, call->root, TAG,
                            peers));
out:
    return rc;
}

PL_DESCRIBE(PL_ALGORITHM, reduce, reduce_linear, run,
            "the root receives all vectors in turn, the next while it adds one (Open MPI)",
            .scratch_volumes = 4);
