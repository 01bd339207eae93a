/* Scatter on a k-nomial tree: each rank receives the blocks of its subtree in one message of bytes
 * and passes on those of its children, the largest subtree first. */
#include "rooted.h"

enum { TAG = 24 };

/* Blocks v .. v + count - 1 into `packed`; those behind rank p - 1 are at the front of sendbuf. */
static int pack_range(const struct pl_call *call, const struct pl_rooted *me, char *packed, int v,
                      int count)
{
    int rc = MPI_SUCCESS;
    while (count > 0) {
        const int rank = pl_to_rank(v, me->root, me->p);
        const int run = count < me->p - rank ? count : me->p - rank;
        const struct pl_portion portion = pl_root_portion(call, rank);
        PL_TRY(pl_pack(portion.buf, run * portion.count, portion.type, packed, run * me->bytes,
                       call->comm));
        packed += (size_t)run * (size_t)me->bytes;
        v += run;
        count -= run;
    }
out:
    return rc;
}

/* What is not one run of bytes in the user's memory is packed right before it is sent. */
static int at_root(const struct pl_call *call, const struct pl_rooted *me,
                   const struct pl_tree *tree)
{
    int rc = MPI_SUCCESS;
    size_t packed = 0, at = 0;
    char *scratch = NULL;
    MPI_Request *requests = pl_requests(call->comm, tree->children);
    for (int i = 0; i < tree->children; i++)
        if (!pl_root_range(call, me, pl_child(tree, i), pl_child_span(tree, i)))
            packed += (size_t)pl_child_span(tree, i) * (size_t)me->bytes;
    if (packed > 0)
        scratch = pl_scratch(call->comm, PL_SLOT_SEND, packed);
    PL_NEED(call, requests && (packed == 0 || scratch));

    for (int i = tree->children - 1; i >= 0; i--) {
        const int child = pl_child(tree, i), span = pl_child_span(tree, i);
        char *range = pl_root_range(call, me, child, span);
        if (!range) {
            range = scratch + at;
            PL_TRY(pack_range(call, me, range, child, span));
            at += (size_t)span * (size_t)me->bytes;
        }
        PL_TRY(pl_peer_isend(call, range, span * me->bytes, MPI_BYTE,
                             pl_to_rank(child, me->root, me->p), TAG, me->peers, &requests[i]));
    }
    PL_TRY(pl_root_keeps(call, me->peers));
    PL_TRY(pl_peer_wait_all(call, tree->children, requests));
out:
    return rc;
}

static int below(const struct pl_call *call, const struct pl_rooted *me, const struct pl_tree *tree)
{
    int rc = MPI_SUCCESS;
    const size_t bytes = (size_t)me->bytes;
    const int parent = pl_to_rank(tree->parent, me->root, me->p);
    void *landing;
    if (tree->children == 0) {
        PL_TRY(pl_landing(call, me->bytes, PL_SLOT_RECV, &landing));
        PL_TRY(pl_peer_recv(call, landing, me->bytes, MPI_BYTE, parent, TAG, me->peers));
        return pl_deliver(call, landing, me->bytes, 1);
    }
    char *blocks = pl_scratch(call->comm, PL_SLOT_RECV, (size_t)tree->span * bytes);
    MPI_Request *requests = pl_requests(call->comm, tree->children);
    PL_NEED(call, blocks && requests);
    PL_TRY(pl_peer_recv(call, blocks, tree->span * me->bytes, MPI_BYTE, parent, TAG, me->peers));
    for (int i = tree->children - 1; i >= 0; i--) {
        const int child = pl_child(tree, i);
        PL_TRY(pl_peer_isend(call, blocks + (size_t)(child - me->v) * bytes,
                             pl_child_span(tree, i) * me->bytes, MPI_BYTE,
                             pl_to_rank(child, me->root, me->p), TAG, me->peers, &requests[i]));
    }
    PL_TRY(
        pl_unpack(blocks, me->bytes, call->recvbuf, call->recvcount, call->recvtype, call->comm));
    PL_TRY(pl_peer_wait_all(call, tree->children, requests));
out:
    return rc;
}

int pl_tree_scatter(const struct pl_call *call)
{
    int rc;
    struct pl_rooted me;
    PL_TRY(pl_rooted_begin(call, &me));
    if (me.bytes == 0)
        return MPI_SUCCESS;
    const struct pl_tree tree = pl_knomial(me.v, me.p, call->values[0]);
    return me.v == 0 ? at_root(call, &me, &tree) : below(call, &me, &tree);
out:
    return rc;
}
