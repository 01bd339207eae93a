/* Reduce on a k-nomial tree. */
#include "incoming.h"
#include "reductions.h"
#include "trees.h"

struct children {
    struct pl_tree tree;
    int p, root, own_at;
};

/* The children with the highest ranks first where the order of operands matters; then the own ones
 * are the last. */
static int child(const void *where, int i)
{
    const struct children *children = where;
    const int last = children->tree.children - 1;
    const int number = children->own_at > last ? last - i : i - (i > children->own_at);
    return pl_to_rank(pl_child(&children->tree, number), children->root, children->p);
}

static int add_children(struct pl_partial *partial, const struct children *children)
{
    int rc;
    const struct pl_call *call = partial->call;
    const int count = children->tree.children + 1;
    void *sum = partial->room[0];
    const void *own = partial->value;
    if (partial->in < 0)
        PL_TRY(pl_partial_room(partial, &sum));
    if (own == sum && children->own_at > 0) {
        void *copy = pl_scratch_elements(call->comm, PL_SLOT_WORK, partial->n, call->recvtype);
        PL_NEED(call, copy);
        PL_TRY(pl_copy(own, copy, partial->n, call->recvtype, call->comm));
        own = copy;
    }
    const struct pl_incoming incoming = {.call = call,
                                         .peers = partial->peers,
                                         .tag = PL_PARTIAL_TAG,
                                         .count = count,
                                         .own_at = children->own_at,
                                         .own = own,
                                         .sum = sum,
                                         .window = pl_incoming_window(call, count),
                                         .sender = child,
                                         .where = children};
    PL_TRY(pl_add_incoming(&incoming));
    partial->in = 0;
    partial->value = sum;
out:
    return rc;
}

int pl_reduce_up_tree(struct pl_partial *partial, int p, int rank, int root, int radix)
{
    int rc = MPI_SUCCESS;
    const struct pl_range all = {0, partial->n};
    struct children children = {pl_knomial(pl_from_root(rank, root, p), p, radix), p, root, 0};
    /* The first message goes to where the sum will stand: nothing is copied. */
    children.own_at = !partial->commutes ? children.tree.children : partial->in < 0;
    if (children.tree.children > 0 && partial->n > 0)
        PL_TRY(add_children(partial, &children));
    if (children.tree.parent >= 0)
        PL_TRY(pl_partial_send(partial, all, pl_to_rank(children.tree.parent, root, p)));
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
