/* Reduce_scatter with counts of any kind, and Reduce_scatter_block with equal ones. */
#include "halving.h"
#include "reductions.h"

enum { TAG = 4 };

/* --- recursive halving --- */

/* Blocks of the places in their own order, for a commutative operation. */
static void in_order(const struct pl_fold *fold, const struct pl_cut *cut, int *first)
{
    for (int place = 0; place < fold->power; place++)
        first[place] = pl_cut_range(cut, pl_fold_first(fold, place)).first;
    first[fold->power] = cut->n;
}

/* The index of the block that an ascending halving leaves on a place: its bits reversed. */
static int left_on(const struct pl_fold *fold, int place)
{
    const struct pl_cut places = {.n = fold->power, .ranges = fold->power};
    return pl_halves(fold, &places, place, fold->power).first;
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
        const int place = left_on(fold, i);
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
    PL_TRY(pl_halve(&partial, &fold, &blocks, !partial.commutes));
    PL_TRY(deliver(&partial, &fold, &cut,
                   first[partial.commutes ? fold.place : left_on(&fold, fold.place)], rank));
out:
    return rc;
}

/* --- pairwise exchange --- */

/* In step i the part for rank + i leaves and the own part of rank - i comes in. Ranks below come
 * in descending order and go in front of the own operands; those above, in descending order too,
 * are collected on their own first if the operation does not commute. */
int pl_reduce_scatter_by_pairs(const struct pl_call *call)
{
    int rc, p, rank, commutes;
    MPI_Comm peers;
    struct pl_cut cut;
    PL_TRY(pl_ranks(call, &p, &rank));
    if (p == 1)
        return pl_alone(call);
    PL_TRY(pl_private(call->comm, &peers));
    PL_TRY(PMPI_Op_commutative(call->op, &commutes));
    PL_TRY(pl_cut_of(call, p, &cut));

    const bool in_place = call->sendbuf == MPI_IN_PLACE; /* all of recvbuf is to be sent */
    const struct pl_range own = pl_cut_range(&cut, rank);
    const MPI_Datatype type = call->recvtype;
    const void *operands = pl_operand(call);
    void *incoming = pl_scratch_elements(call->comm, PL_SLOT_RECV, own.count, type);
    void *above = commutes || rank == p - 1
                      ? NULL
                      : pl_scratch_elements(call->comm, PL_SLOT_SEND, own.count, type);
    void *sum =
        in_place ? pl_scratch_elements(call->comm, PL_SLOT_WORK, own.count, type) : call->recvbuf;
    PL_NEED(call, incoming && (!in_place || sum) && (commutes || rank == p - 1 || above));
    PL_TRY(pl_copy(pl_at(operands, own.first, type), sum, own.count, type, call->comm));

    for (int i = 1; i < p; i++) {
        const int to = (rank + i) % p, from = (rank - i + p) % p;
        const struct pl_range send = pl_cut_range(&cut, to);
        void *into = above && from == p - 1 ? above : incoming;
        PL_TRY(pl_peer_sendrecv(call, pl_at(operands, send.first, type), send.count, type,
                                send.count ? to : MPI_PROC_NULL, TAG, into, own.count, type,
                                own.count ? from : MPI_PROC_NULL, TAG, peers));
        if (into == incoming)
            PL_TRY(pl_combine(call, incoming, above && from > rank ? above : sum, own.count));
    }
    if (above)
        PL_TRY(pl_combine(call, sum, above, own.count));
    if (above || in_place)
        PL_TRY(pl_copy(above ? above : sum, call->recvbuf, own.count, type, call->comm));
out:
    return rc;
}
