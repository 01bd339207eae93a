/* Reduce by the root alone: it receives a vector from everybody, in turn; while it adds one, the
 * next ones are on their way, `window` at a time with the one that it adds. It adds them in a fixed
 * order, but takes them in as they arrive.
 *
 * Source: the linear algorithm of Open MPI (coll/basic), with a window of receives.
 * Cost: (p-1) (a + n b + n g); with a wide window messages overlap, up to (p-1) (n b + n g) + a.
 * Restrictions: none; operands are taken from the last rank to the first, which keeps their order.
 * A commutative operation starts next to the root, which saves a copy.
 * Messages: one from every rank but the root, on the private communicator.
 * Scratch: `window` vectors at the root; one more in place if the operation is not commutative. */
#include "parameters.h"
#include "vectors.h"

enum { TAG = PL_OWN_TAG, WIDEST = 32 };

struct sources {
    const struct pl_call *call;
    MPI_Comm peers;
    int p, first, window; /* whose operands come first */
    void *room;           /* `window` vectors for what comes in, in turn */
    MPI_Request *request;
};

static int source(const struct sources *s, int i)
{
    return (s->first - i + s->p) % s->p;
}

/* The first vector goes straight to recvbuf. */
static void *place(const struct sources *s, int i)
{
    return i == 0
               ? s->call->recvbuf
               : pl_at(s->room, (long long)(i % s->window) * s->call->recvcount, s->call->recvtype);
}

static int post(struct sources *s, int i)
{
    s->request[i % s->window] = MPI_REQUEST_NULL;
    if (i >= s->p || source(s, i) == s->call->root)
        return MPI_SUCCESS;
    return pl_raise(s->call->comm,
                    PL_MPI(Irecv)(place(s, i), s->call->recvcount, s->call->recvtype, source(s, i),
                                  TAG, s->peers, &s->request[i % s->window]));
}

/* Takes what else arrives meanwhile: a message that waits for its turn delays no other. */
static int wait_for(struct sources *s, int i)
{
    int rc = MPI_SUCCESS, arrived;
    while (s->request[i % s->window] != MPI_REQUEST_NULL)
        PL_TRY(pl_raise(s->call->comm,
                        PL_MPI(Waitany)(s->window, s->request, &arrived, MPI_STATUS_IGNORE)));
out:
    return rc;
}

static int run_root(const struct pl_call *call, MPI_Comm peers, int p)
{
    int rc, commutes;
    const MPI_Datatype type = call->recvtype;
    const int n = call->recvcount;
    const bool in_place = call->sendbuf == MPI_IN_PLACE;
    PL_TRY(PMPI_Op_commutative(call->op, &commutes));
    struct sources s = {.call = call, .peers = peers, .p = p, .first = p - 1};
    s.window = call->values[0] < p ? call->values[0] : p;
    if (n > INT_MAX / s.window)
        s.window = INT_MAX / n;
    if (commutes)
        s.first = in_place ? call->root : (call->root + 1) % p;
    s.room = pl_scratch_elements(call->comm, PL_SLOT_RECV, s.window * n, type);
    s.request = pl_requests(call->comm, s.window);
    PL_NEED(call, s.room && s.request);
    const void *own = pl_operand(call);
    if (in_place && s.first != call->root) {
        void *copy = pl_scratch_elements(call->comm, PL_SLOT_WORK, n, type);
        PL_NEED(call, copy);
        PL_TRY(pl_copy(own, copy, n, type, call->comm));
        own = copy;
    }

    for (int i = 0; i < s.window - 1; i++)
        PL_TRY(post(&s, i));
    for (int i = 0; i < p; i++) {
        PL_TRY(post(&s, i + s.window - 1));
        PL_TRY(wait_for(&s, i));
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
    PL_TRY(pl_ranks(call, &p, &rank));
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
            "the root receives all vectors in turn, others while it adds one (Open MPI)",
            .scratch_volumes = WIDEST + 2,
            .parameters = {{.name = "window",
                            .least = 1,
                            .most = WIDEST,
                            .standard = 2,
                            .tries = {2, 4, 8, 16, WIDEST},
                            .summary = "messages that are open at the root at a time"}});
