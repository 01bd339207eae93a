/* Reduce_scatter and Reduce_scatter_block on parallel aggregated trees: allgather/pat.c backwards.
 *
 * Offset o of a rank is its part of the result of the rank o before. With the parts of all offsets
 * of its subtree it goes to the rank d before, d the lowest bit of o, where it is added to offset
 * o - d. So A trees shrink depth first, the nearest child first, and their roots are then added up
 * at distances in ascending order. */
#include "reductions.h"

enum { TAG = 8 };

struct trees {
    const struct pl_call *call;
    MPI_Comm peers;
    struct pl_cut cut;
    int p, rank;
    void *sums;     /* the vector: operands, and what has been added to them */
    void *out, *in; /* a message each */
};

static struct pl_range block_of(const struct trees *trees, int offset)
{
    const int owner = trees->rank - offset;
    return pl_cut_range(&trees->cut, owner < 0 ? owner + trees->p : owner);
}

/* Packs the blocks of the offsets first, first + stride, …; returns how many elements. */
static int pack(const struct trees *trees, int first, int stride, int *elements)
{
    int rc = MPI_SUCCESS;
    const struct pl_call *call = trees->call;
    *elements = 0;
    for (long long offset = first; offset < trees->p; offset += stride) {
        const struct pl_range block = block_of(trees, (int)offset);
        PL_TRY(pl_copy(pl_at(trees->sums, block.first, call->recvtype),
                       pl_at(trees->out, *elements, call->recvtype), block.count, call->recvtype,
                       call->comm));
        *elements += block.count;
    }
out:
    return rc;
}

/* Gives the offsets first, first + stride, … to the rank `distance` before. What comes in from the
 * rank behind are these offsets less the distance, seen from here. */
static int give(const struct trees *trees, int distance, int first, int stride)
{
    int rc = MPI_SUCCESS, leaving, arriving = 0, added = 0;
    const struct pl_call *call = trees->call;
    const MPI_Datatype type = call->recvtype;
    const int p = trees->p, rank = trees->rank;
    const int to = rank >= distance ? rank - distance : rank - distance + p;
    const int from = rank < p - distance ? rank + distance : rank + distance - p;
    PL_TRY(pack(trees, first, stride, &leaving));
    for (long long offset = first; offset < p; offset += stride)
        arriving += block_of(trees, (int)offset - distance).count;
    PL_TRY(pl_peer_sendrecv(call, trees->out, leaving, type, leaving > 0 ? to : MPI_PROC_NULL, TAG,
                            trees->in, arriving, type, arriving > 0 ? from : MPI_PROC_NULL, TAG,
                            trees->peers));
    for (long long offset = first; offset < p; offset += stride) {
        const struct pl_range block = block_of(trees, (int)offset - distance);
        PL_TRY(pl_combine(call, pl_at(trees->in, added, type),
                          pl_at(trees->sums, block.first, type), block.count));
        added += block.count;
    }
out:
    return rc;
}

/* The trees below `offset`, whose children are 1, 2, 4, … up to `most` away. */
static int shrink(const struct trees *trees, int offset, int most, int stride)
{
    int rc = MPI_SUCCESS;
    for (int distance = 1; distance <= most; distance *= 2) {
        PL_TRY(shrink(trees, offset + distance, distance / 2, stride));
        if (offset + distance < trees->p)
            PL_TRY(give(trees, distance, offset + distance, stride));
    }
out:
    return rc;
}

/* The most elements that `blocks` blocks of one message can have. */
static int most_elements(const struct pl_cut *cut, int blocks)
{
    int most = 0;
    for (int i = 0; i < cut->ranges; i++)
        most = pl_cut_range(cut, i).count > most ? pl_cut_range(cut, i).count : most;
    return most < cut->n / blocks ? most * blocks : cut->n;
}

int pl_reduce_scatter_on_parallel_trees(const struct pl_call *call)
{
    int rc, half = 1, trees_at_once = 1;
    struct trees trees = {.call = call};
    PL_TRY(pl_ranks(call, &trees.p, &trees.rank));
    if (trees.p == 1)
        return pl_alone(call);
    PL_TRY(pl_private(call->comm, &trees.peers));
    PL_TRY(pl_cut_of(call, trees.p, &trees.cut));
    while (half < trees.p - half)
        half *= 2;
    while (trees_at_once <= call->values[0] / 2 && trees_at_once < half)
        trees_at_once *= 2;

    const MPI_Datatype type = call->recvtype;
    const int most = most_elements(&trees.cut, trees_at_once);
    trees.sums = pl_scratch_elements(call->comm, PL_SLOT_WORK, trees.cut.n, type);
    trees.out = pl_scratch_elements(call->comm, PL_SLOT_SEND, most, type);
    trees.in = pl_scratch_elements(call->comm, PL_SLOT_RECV, most, type);
    PL_NEED(call, trees.sums && trees.out && trees.in);
    PL_TRY(pl_copy(pl_operand(call), trees.sums, trees.cut.n, type, call->comm));

    const int stride = 2 * (half / trees_at_once); /* between the roots of trees */
    PL_TRY(shrink(&trees, 0, stride / 2, stride));
    for (int distance = stride; distance <= half; distance *= 2)
        PL_TRY(give(&trees, distance, distance, 2 * distance));
    const struct pl_range own = pl_cut_range(&trees.cut, trees.rank);
    PL_TRY(pl_copy(pl_at(trees.sums, own.first, type), call->recvbuf, own.count, type, call->comm));
out:
    return rc;
}
