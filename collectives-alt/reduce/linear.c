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
#include "incoming.h"
#include "parameters.h"

enum { TAG = PL_OWN_TAG, WIDEST = 32 };

struct order {
    int p, first; /* whose operands come first */
};

static int source(const void *where, int i)
{
    const struct order *order = where;
    return (order->first - i + order->p) % order->p;
}

static int run_root(const struct pl_call *call, MPI_Comm peers, int p)
{
    int rc, commutes;
    const int n = call->recvcount, root = call->root;
    const bool in_place = call->sendbuf == MPI_IN_PLACE;
    PL_TRY(PMPI_Op_commutative(call->op, &commutes));
    struct order order = {p, p - 1};
    if (commutes)
        order.first = in_place ? root : (root + 1) % p;
    struct pl_incoming incoming = {.call = call,
                                   .peers = peers,
                                   .tag = TAG,
                                   .count = p,
                                   .own_at = (order.first - root + p) % p,
                                   .own = pl_operand(call),
                                   .sum = call->recvbuf,
                                   .window = call->values[0] < p ? call->values[0] : p,
                                   .sender = source,
                                   .where = &order};
    if (n > INT_MAX / incoming.window)
        incoming.window = INT_MAX / n;
    if (in_place && incoming.own_at != 0) {
        void *copy = pl_scratch_elements(call->comm, PL_SLOT_WORK, n, call->recvtype);
        PL_NEED(call, copy);
        PL_TRY(pl_copy(incoming.own, copy, n, call->recvtype, call->comm));
        incoming.own = copy;
    }
    PL_TRY(pl_add_incoming(&incoming));
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
