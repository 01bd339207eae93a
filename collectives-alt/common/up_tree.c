/* Reduce on a k-nomial tree. */
#include "reductions.h"
#include "trees.h"

int pl_reduce_up_tree(struct pl_partial *partial, int p, int rank, int root, int radix)
{
    int rc = MPI_SUCCESS;
    const struct pl_range all = {0, partial->n};
    const struct pl_tree tree = pl_knomial(pl_from_root(rank, root, p), p, radix);
    for (int i = 0; i < tree.children; i++)
        PL_TRY(pl_partial_receive(partial, all, pl_to_rank(pl_child(&tree, i), root, p), false));
    if (tree.parent >= 0)
        PL_TRY(pl_partial_send(partial, all, pl_to_rank(tree.parent, root, p)));
out:
    return rc;
}

/* Subtrees are runs of ranks counted from the root of the tree. */
int pl_reduce_on_tree(const struct pl_call *call)
{
    int rc, p, rank;
    struct pl_partial partial;
    const struct pl_range all = {0, call->recvcount};
    PL_TRY(pl_ranks(call, &p, &rank));
    PL_TRY(pl_partial_start(&partial, call, call->recvcount, rank == call->root));

    const int top = partial.commutes ? call->root : 0;
    PL_TRY(pl_reduce_up_tree(&partial, p, rank, top, call->values[0]));
    if (top == call->root) {
        if (rank == top)
            PL_TRY(pl_partial_finish(&partial, all));
    } else if (rank == top) {
        PL_TRY(pl_partial_send(&partial, all, call->root));
    } else if (rank == call->root) {
        PL_TRY(pl_receive_range(&partial, all, top));
    }
out:
    return rc;
}
