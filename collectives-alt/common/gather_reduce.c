/* Reductions of few bytes: each rank gets the operands of all ranks that count for it, and reduces
 * them alone. */
#include "reductions.h"

enum { TAG = 7, MOST_BYTES = 1 << 20 };

/* Round m (1, 2, 4, …) doubles what a rank has: of the ranks m below it, and in a circle above the
 * last. They lie in the order of ranks, the own vector at the end. */
struct gather {
    const struct pl_call *call;
    MPI_Comm peers;
    int p, rank, n;
    bool prefix; /* only the ranks below, which is no circle */
    void *vectors;
};

static int wanted(const struct gather *gather, int rank)
{
    return gather->prefix ? rank + 1 : gather->p;
}

/* How many vectors come to `rank` in round m. */
static int arriving(const struct gather *gather, int rank, int m)
{
    const int missing = wanted(gather, rank) - m;
    return missing < 0 ? 0 : missing < m ? missing : m;
}

static void *vector(const struct gather *gather, int i)
{
    return pl_at(gather->vectors, (long long)i * gather->n, gather->call->recvtype);
}

static int rounds(const struct gather *gather)
{
    int rc = MPI_SUCCESS;
    const struct pl_call *call = gather->call;
    const MPI_Datatype type = call->recvtype;
    const int p = gather->p, rank = gather->rank, all = wanted(gather, rank);
    for (int m = 1; m < p; m *= 2) {
        const bool ends = rank >= p - m; /* of a chain; a circle goes on */
        const int to = ends ? rank - (p - m) : rank + m, from = (rank + p - m) % p;
        const int out = ends && gather->prefix ? 0 : arriving(gather, to, m);
        const int in = arriving(gather, rank, m);
        PL_TRY(pl_peer_sendrecv(call, vector(gather, all - out), out * gather->n, type,
                                out > 0 ? to : MPI_PROC_NULL, TAG, vector(gather, all - m - in),
                                in * gather->n, type, in > 0 ? from : MPI_PROC_NULL, TAG,
                                gather->peers));
        if (m > p / 2)
            break;
    }
out:
    return rc;
}

/* A message from every rank to each one above it, all at once. */
static int flood(const struct gather *gather)
{
    int rc = MPI_SUCCESS, open = 0;
    const struct pl_call *call = gather->call;
    MPI_Request *requests = pl_requests(call->comm, gather->p);
    PL_NEED(call, requests);
    for (int other = gather->rank - 1; other >= 0; other--)
        PL_TRY(pl_peer_irecv(call, vector(gather, other), gather->n, call->recvtype, other, TAG,
                             gather->peers, &requests[open++]));
    for (int other = gather->rank + 1; other < gather->p; other++)
        PL_TRY(pl_peer_isend(call, vector(gather, gather->rank), gather->n, call->recvtype, other,
                             TAG, gather->peers, &requests[open++]));
    PL_TRY(pl_peer_wait_all(call, open, requests));
out:
    return rc;
}

/* A range of the vectors of ranks 0 .. ranks - 1, from the last to the first, so that the order is
 * kept, into recvbuf. */
static int reduce(const struct gather *gather, int ranks, struct pl_range range)
{
    int rc = MPI_SUCCESS;
    const struct pl_call *call = gather->call;
    const MPI_Datatype type = call->recvtype;
    const int p = gather->p;
    for (int i = ranks - 1; i >= 0; i--) {
        const int place = gather->prefix ? i : (i + p - 1 - gather->rank) % p;
        const void *operands = pl_at(vector(gather, place), range.first, type);
        if (i == ranks - 1)
            PL_TRY(pl_copy(operands, call->recvbuf, range.count, type, call->comm));
        else
            PL_TRY(pl_combine(call, operands, call->recvbuf, range.count));
    }
out:
    return rc;
}

typedef int get_vectors(const struct gather *gather);

static int by(get_vectors *get, const struct pl_call *call, pl_reduction *otherwise)
{
    int rc;
    struct pl_cut cut;
    struct gather gather = {.call = call};
    PL_TRY(pl_ranks(call, &gather.p, &gather.rank));
    PL_TRY(pl_cut_of(call, gather.p, &cut));
    gather.n = cut.n;
    gather.prefix = call->function == PL_FN_scan || call->function == PL_FN_exscan;
    const int size = pl_size_of(call->recvtype);
    if (size <= 0 || cut.n > MOST_BYTES / size / gather.p)
        return otherwise(call);
    if (cut.n == 0)
        return MPI_SUCCESS;
    PL_TRY(pl_private(call->comm, &gather.peers));
    const int all = wanted(&gather, gather.rank);
    gather.vectors = pl_scratch_elements(call->comm, PL_SLOT_RECV, all * gather.n, call->recvtype);
    PL_NEED(call, gather.vectors);
    PL_TRY(
        pl_copy(pl_operand(call), vector(&gather, all - 1), gather.n, call->recvtype, call->comm));
    PL_TRY(get(&gather));

    const bool scatters =
        call->function == PL_FN_reduce_scatter || call->function == PL_FN_reduce_scatter_block;
    PL_TRY(reduce(&gather, call->function == PL_FN_exscan ? all - 1 : all,
                  scatters ? pl_cut_range(&cut, gather.rank) : (struct pl_range){0, cut.n}));
out:
    return rc;
}

int pl_by_gathering(const struct pl_call *call, pl_reduction *otherwise)
{
    return by(rounds, call, otherwise);
}

int pl_prefix_by_flooding(const struct pl_call *call, pl_reduction *otherwise)
{
    return by(flood, call, otherwise);
}
