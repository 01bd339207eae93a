/* Allreduce by recursive multiplying: in each round groups of `radix` ranks exchange their results,
 * everyone with everyone.
 *
 * Source: Wilkins et al., "Generalized Collective Algorithms for the Exascale Era", IEEE CLUSTER
 * 2023; ranks that do not fit are folded as in Thakur, Rabenseifner, Gropp, IJHPCA 19(1), 2005.
 * Cost, for k = radix and p a power of k: log_k p (a + (k-1) n b + (k-1) n g), if the k - 1
 * messages of a round overlap. Else one round has groups of f < k, and p - k^m f ranks send their
 * vector to a neighbour first and get the result from it, which adds 2 (a + n b) + n g.
 * Restrictions: none. Groups join runs of ranks: the order is kept.
 * Parameter: radix; 2 is allreduce_recursive_doubling.
 * Messages: k - 1 in each of log_k p rounds, all open at once, on the private communicator.
 * Scratch: k - 1 vectors, and one where ranks are folded. Vectors of more than INT_MAX / k elements
 * go by recursive doubling. */
#include "halving.h"
#include "parameters.h"
#include "reductions.h"

enum { TAG = PL_OWN_TAG, MOST = 16 };

struct group {
    const struct pl_partial *partial;
    const struct pl_fold *fold;
    int size, distance; /* places, and how far apart they are */
    int mine;           /* this place among them */
    void *rooms;        /* a vector for each of them */
};

static void *vector(const struct group *group, int i)
{
    const struct pl_call *call = group->partial->call;
    return i == group->mine ? call->recvbuf
                            : pl_at(group->rooms, (long long)i * call->recvcount, call->recvtype);
}

static int exchange(const struct group *group, MPI_Request *requests)
{
    int rc, open = 0;
    const struct pl_call *call = group->partial->call;
    const MPI_Comm peers = group->partial->peers;
    for (int step = 1; step < group->size; step++) {
        const int to = (group->mine + step) % group->size;
        const int from = (group->mine + group->size - step) % group->size;
        const int base = group->fold->place - group->mine * group->distance;
        PL_TRY(pl_peer_irecv(call, vector(group, from), call->recvcount, call->recvtype,
                             pl_fold_rank(group->fold, base + from * group->distance), TAG, peers,
                             &requests[open++]));
        PL_TRY(pl_peer_isend(call, call->recvbuf, call->recvcount, call->recvtype,
                             pl_fold_rank(group->fold, base + to * group->distance), TAG, peers,
                             &requests[open++]));
    }
    PL_TRY(pl_peer_wait_all(call, open, requests));
out:
    return rc;
}

/* All ranks add the vectors in the same way, from the last to the first. */
static int reduce(const struct group *group)
{
    int rc = MPI_SUCCESS;
    const struct pl_call *call = group->partial->call;
    void *sum = vector(group, group->size - 1);
    for (int i = group->size - 2; i >= 0; i--)
        PL_TRY(pl_combine(call, vector(group, i), sum, call->recvcount));
    if (sum != call->recvbuf)
        PL_TRY(pl_copy(sum, call->recvbuf, call->recvcount, call->recvtype, call->comm));
out:
    return rc;
}

/* The most places there are rounds for: a power of the radix, once multiplied by less. */
static int places_of(int p, int radix)
{
    int power = 1;
    while (power <= p / radix)
        power *= radix;
    return p / power * power;
}

static int rounds(const struct pl_partial *partial, const struct pl_fold *fold, int radix)
{
    int rc = MPI_SUCCESS;
    const struct pl_call *call = partial->call;
    struct group group = {.partial = partial, .fold = fold, .distance = 1};
    const int most = radix < fold->power ? radix : fold->power;
    group.rooms =
        pl_scratch_elements(call->comm, PL_SLOT_WORK, most * call->recvcount, call->recvtype);
    MPI_Request *requests = pl_requests(call->comm, 2 * most);
    PL_NEED(call, group.rooms && requests);
    for (; group.distance < fold->power; group.distance *= group.size) {
        const int left = fold->power / group.distance;
        group.size = left < radix ? left : radix;
        group.mine = fold->place / group.distance % group.size;
        PL_TRY(exchange(&group, requests));
        PL_TRY(reduce(&group));
    }
out:
    return rc;
}

static int run(const struct pl_call *call)
{
    int rc, p, rank;
    struct pl_partial partial;
    const int radix = call->values[0];
    const struct pl_range all = {0, call->recvcount};
    if (call->recvcount > INT_MAX / radix)
        return pl_allreduce_by_doubling(call);
    PL_TRY(pl_ranks(call, &p, &rank));
    PL_TRY(pl_partial_start(&partial, call, call->recvcount, true));
    const struct pl_fold fold = pl_fold_to(places_of(p, radix), p, rank, 0);
    PL_TRY(pl_fold_in(&partial, &fold, rank));
    if (fold.place >= 0) {
        PL_TRY(pl_partial_finish(&partial, all));
        if (call->recvcount > 0)
            PL_TRY(rounds(&partial, &fold, radix));
    }
    PL_TRY(pl_fold_out(&partial, &fold));
out:
    return rc;
}

PL_DESCRIBE(PL_ALGORITHM, allreduce, allreduce_recursive_multiplying, run,
            "rounds of groups of k ranks, log_k p of them (CLUSTER 2023)",
            .scratch_volumes = MOST + 3,
            .parameters = {{.name = "radix",
                            .least = 2,
                            .most = MOST,
                            .standard = 4,
                            .tries = {3, 4, 5, 6, 8, MOST},
                            .summary = "k: ranks of a group"}},
            .least_ranks = 4);
