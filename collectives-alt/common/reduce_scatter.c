/* Reduce_scatter with counts of any kind, and Reduce_scatter_block with equal ones. */
#include "halving.h"
#include "reductions.h"

#include <limits.h>

enum { TAG = 4 };

/* --- recursive halving --- */

/* Blocks of the places in their own order, for a commutative operation. */
static void in_order(const struct pl_fold *fold, const struct pl_cut *cut, int *first)
{
    for (int place = 0; place < fold->power; place++)
        first[place] = pl_cut_range(cut, pl_fold_first(fold, place)).first;
    first[fold->power] = cut->n;
}

/* A copy of the value, in which the block of each place stands where it is left on that place. */
static int permute(struct pl_partial *partial, const struct pl_fold *fold, const struct pl_cut *cut,
                   int *first)
{
    int rc;
    const struct pl_call *call = partial->call;
    const MPI_Datatype type = call->recvtype;
    void *room;
    PL_TRY(pl_partial_room(partial, &room));
    first[0] = 0;
    for (int i = 0; i < fold->power; i++) { /* reversing bits twice changes nothing */
        const int place = pl_near_first.label(fold->power, i);
        const struct pl_range block =
            pl_cut_run(cut, pl_fold_first(fold, place), pl_fold_first(fold, place + 1));
        PL_TRY(pl_copy(pl_at(partial->value, block.first, type), pl_at(room, first[i], type),
                       block.count, type, call->comm));
        first[i + 1] = first[i] + block.count;
    }
    pl_partial_in_room(partial);
out:
    return rc;
}

/* The block at `begin` is that of this rank, or that of its pair. */
static int deliver(const struct pl_partial *partial, const struct pl_fold *fold,
                   const struct pl_cut *cut, int begin, int rank)
{
    int rc = MPI_SUCCESS;
    const struct pl_call *call = partial->call;
    const int own = pl_cut_range(cut, rank).count;
    if (fold->mate >= 0) /* the mate is odd */
        PL_TRY(pl_partial_send(partial,
                               (struct pl_range){begin + own, pl_cut_range(cut, fold->mate).count},
                               fold->mate));
    PL_TRY(pl_copy(pl_at(partial->value, begin, call->recvtype), call->recvbuf, own, call->recvtype,
                   call->comm));
out:
    return rc;
}

int pl_reduce_scatter_by_halving(const struct pl_call *call)
{
    int rc, p, rank;
    struct pl_cut cut;
    struct pl_partial partial;
    PL_TRY(pl_ranks(call, &p, &rank));
    if (p == 1)
        return pl_alone(call);
    PL_TRY(pl_cut_of(call, p, &cut));
    PL_TRY(pl_partial_start(&partial, call, cut.n, false));
    const struct pl_fold fold = pl_fold_of(p, rank, 0);
    PL_TRY(pl_fold_in(&partial, &fold, rank));
    if (fold.place < 0)
        return pl_receive_range(&partial, (struct pl_range){0, pl_cut_range(&cut, rank).count},
                                fold.mate);

    int *first = pl_scratch(call->comm, PL_SLOT_WORK, ((size_t)p + 1) * sizeof *first);
    PL_NEED(call, first);
    const struct pl_cut blocks = {.n = cut.n, .ranges = fold.power, .first = first};
    if (partial.commutes)
        in_order(&fold, &cut, first);
    else
        PL_TRY(permute(&partial, &fold, &cut, first));
    const struct pl_halving halving =
        pl_halving_of(&fold, partial.commutes ? &pl_far_first : &pl_near_first);
    PL_TRY(pl_halve(&partial, &halving, &blocks));
    PL_TRY(deliver(&partial, &fold, &cut, first[halving.label], rank));
out:
    return rc;
}

/* --- pairwise exchange --- */

struct pairs {
    const struct pl_call *call;
    MPI_Comm peers;
    int p, rank, count; /* elements of the own block */
    int kept;           /* rooms for what comes in, which it takes in turn */
    void *rooms;
    void *above; /* for that of the last rank; NULL: it goes to a room */
    MPI_Request incoming[2];
};

static int source(const struct pairs *pairs, int i)
{
    return (pairs->rank - i + pairs->p) % pairs->p;
}

static void *place(const struct pairs *pairs, int i)
{
    return pairs->above && source(pairs, i) == pairs->p - 1
               ? pairs->above
               : pl_at(pairs->rooms, (long long)(i % pairs->kept) * pairs->count,
                       pairs->call->recvtype);
}

static int post(struct pairs *pairs, int i)
{
    const struct pl_call *call = pairs->call;
    if (i >= pairs->p)
        return MPI_SUCCESS;
    const int from = pairs->count > 0 ? source(pairs, i) : MPI_PROC_NULL;
    return pl_peer_irecv(call, place(pairs, i), pairs->count, call->recvtype, from, TAG,
                         pairs->peers, &pairs->incoming[i % pairs->kept]);
}

static int send(const struct pairs *pairs, const struct pl_cut *cut, int i, MPI_Request *request)
{
    const struct pl_call *call = pairs->call;
    const int to = (pairs->rank + i) % pairs->p;
    const struct pl_range range = pl_cut_range(cut, to);
    return pl_peer_isend(call, pl_at(pl_operand(call), range.first, call->recvtype), range.count,
                         call->recvtype, range.count > 0 ? to : MPI_PROC_NULL, TAG, pairs->peers,
                         request);
}

/* In step i the part for rank + i leaves and the own part of rank - i comes in, whose receive was
 * posted a step before. Ranks below come in descending order and go in front of the own operands;
 * those above, in descending order too, are collected on their own first if the operation does not
 * commute. */
int pl_reduce_scatter_by_pairs(const struct pl_call *call)
{
    int rc, commutes;
    struct pl_cut cut;
    struct pairs pairs = {.call = call};
    PL_TRY(pl_ranks(call, &pairs.p, &pairs.rank));
    if (pairs.p == 1)
        return pl_alone(call);
    PL_TRY(pl_private(call->comm, &pairs.peers));
    PL_TRY(PMPI_Op_commutative(call->op, &commutes));
    PL_TRY(pl_cut_of(call, pairs.p, &cut));

    const bool in_place = call->sendbuf == MPI_IN_PLACE; /* all of recvbuf is to be sent */
    const bool sorts = !commutes && pairs.rank < pairs.p - 1;
    const struct pl_range own = pl_cut_range(&cut, pairs.rank);
    const MPI_Datatype type = call->recvtype;
    pairs.count = own.count;
    pairs.kept = own.count > INT_MAX / 2 ? 1 : 2;
    pairs.rooms = pl_scratch_elements(call->comm, PL_SLOT_RECV, pairs.kept * own.count, type);
    void *above = sorts ? pl_scratch_elements(call->comm, PL_SLOT_SEND, own.count, type) : NULL;
    void *sum =
        in_place ? pl_scratch_elements(call->comm, PL_SLOT_WORK, own.count, type) : call->recvbuf;
    PL_NEED(call, pairs.rooms && (!in_place || sum) && (!sorts || above));
    pairs.above = above;
    PL_TRY(pl_copy(pl_at(pl_operand(call), own.first, type), sum, own.count, type, call->comm));

    if (pairs.kept > 1)
        PL_TRY(post(&pairs, 1));
    for (int i = 1; i < pairs.p; i++) {
        MPI_Request leaving;
        void *from = place(&pairs, i);
        PL_TRY(post(&pairs, i + pairs.kept - 1));
        PL_TRY(send(&pairs, &cut, i, &leaving));
        PL_TRY(pl_peer_wait(call, &pairs.incoming[i % pairs.kept]));
        if (from != above)
            PL_TRY(pl_combine(call, from, above && source(&pairs, i) > pairs.rank ? above : sum,
                              own.count));
        PL_TRY(pl_peer_wait(call, &leaving));
    }
    if (above)
        PL_TRY(pl_combine(call, sum, above, own.count));
    if (above || in_place)
        PL_TRY(pl_copy(above ? above : sum, call->recvbuf, own.count, type, call->comm));
out:
    return rc;
}
