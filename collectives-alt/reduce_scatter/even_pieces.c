/* Reduce_scatter with uneven counts: recursive halving over even pieces of the vector, whatever the
 * blocks are, then the parts of pieces that other ranks want go to them.
 *
 * Source: Thakur, Rabenseifner, Gropp, IJHPCA 19(1), 2005, for the halving; with one block that is
 * not empty it is the Reduce of Rabenseifner, ICCS 2004, whose gather is linear here.
 * Cost, p a power of two: log2 p a + (p-1)/p n (b + g), and for a rank with a block of m bytes in
 * k pieces k a + m b at most; nothing where the blocks are the pieces. Else p - 2^k ranks send
 * their vector to a neighbour first, which adds a + n b + n g. Restrictions: MPI's own operations,
 * since blocks are cut. Messages: log2 p a rank, then one for each piece that overlaps another
 * rank's block, all at once, on the private communicator; empty ones are not sent. Scratch: two
 * vectors. */
#include "halving.h"

enum { TAG = PL_OWN_TAG };

static struct pl_range overlap(struct pl_range one, struct pl_range other)
{
    const int first = one.first > other.first ? one.first : other.first;
    const int one_end = one.first + one.count, other_end = other.first + other.count;
    const int end = one_end < other_end ? one_end : other_end;
    return (struct pl_range){first, end > first ? end - first : 0};
}

/* What this rank gets of its block, straight to its place. */
static int receive(const struct pl_partial *partial, const struct pl_fold *fold,
                   const struct pl_cut *pieces, struct pl_range block, MPI_Request *requests,
                   int *open)
{
    int rc = MPI_SUCCESS;
    const struct pl_call *call = partial->call;
    for (int place = 0; place < pieces->ranges; place++) {
        const struct pl_range part = overlap(pl_cut_range(pieces, place), block);
        if (part.count == 0 || place == fold->place)
            continue;
        PL_TRY(pl_peer_irecv(call, pl_at(call->recvbuf, part.first - block.first, call->recvtype),
                             part.count, call->recvtype, pl_fold_rank(fold, place), TAG,
                             partial->peers, &requests[*open]));
        ++*open;
    }
out:
    return rc;
}

static int hand_out(const struct pl_partial *partial, const struct pl_cut *cut, int rank,
                    struct pl_range piece, MPI_Request *requests, int *open)
{
    int rc = MPI_SUCCESS;
    const struct pl_call *call = partial->call;
    const MPI_Datatype type = call->recvtype;
    for (int other = 0; other < cut->ranges; other++) {
        const struct pl_range block = pl_cut_range(cut, other), part = overlap(piece, block);
        const void *from = pl_at(partial->value, part.first, type);
        if (part.count == 0)
            continue;
        if (other == rank) {
            PL_TRY(pl_copy(from, pl_at(call->recvbuf, part.first - block.first, type), part.count,
                           type, call->comm));
            continue;
        }
        PL_TRY(pl_peer_isend(call, from, part.count, type, other, TAG, partial->peers,
                             &requests[*open]));
        ++*open;
    }
out:
    return rc;
}

static int run(const struct pl_call *call)
{
    int rc, p, rank, open = 0;
    struct pl_cut cut;
    struct pl_partial partial;
    PL_TRY(pl_ranks(call, &p, &rank));
    if (p == 1)
        return pl_alone(call);
    PL_TRY(pl_cut_of(call, p, &cut));
    PL_TRY(pl_partial_start(&partial, call, cut.n, false));
    const struct pl_fold fold = pl_fold_of(p, rank, 0);
    const struct pl_cut pieces = {.n = cut.n, .ranges = fold.power};
    MPI_Request *requests = pl_requests(call->comm, 2 * p);
    PL_NEED(call, requests);
    PL_TRY(pl_fold_in(&partial, &fold, rank));
    if (fold.place >= 0) {
        const struct pl_halving halving = pl_halving_of(&fold, &pl_far_first);
        PL_TRY(pl_halve(&partial, &halving, &pieces));
    }
    /* The operands have left: recvbuf may be written, in place too. */
    PL_TRY(receive(&partial, &fold, &pieces, pl_cut_range(&cut, rank), requests, &open));
    if (fold.place >= 0)
        PL_TRY(hand_out(&partial, &cut, rank, pl_cut_range(&pieces, fold.place), requests, &open));
    PL_TRY(pl_peer_wait_all(call, open, requests));
out:
    return rc;
}

PL_DESCRIBE(PL_ALGORITHM, reduce_scatter, reduce_scatter_even_pieces, run,
            "recursive halving over even pieces, which then go to their ranks (Thakur et al. 2005)",
            .restrictions = PL_BUILTIN_OP, .scratch_volumes = 3, .least_ranks = 3);
