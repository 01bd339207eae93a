/* Gather on a k-nomial tree: each rank collects the blocks of its subtree and passes them on in one
 * message of bytes. */
#include "rooted.h"

enum { TAG = 23 };

/* Blocks v .. v + count - 1 out of `packed`; those behind rank p - 1 are at the front of recvbuf.
 */
static int unpack_range(const struct pl_call *call, const struct pl_rooted *me, const char *packed,
                        int v, int count)
{
    int rc = MPI_SUCCESS;
    while (count > 0) {
        const int rank = pl_to_rank(v, me->root, me->p);
        const int run = count < me->p - rank ? count : me->p - rank;
        const struct pl_portion portion = pl_root_portion(call, rank);
        PL_TRY(pl_unpack(packed, run * me->bytes, portion.buf, run * portion.count, portion.type,
                         call->comm));
        packed += (size_t)run * (size_t)me->bytes;
        v += run;
        count -= run;
    }
out:
    return rc;
}

/* All subtrees at once: each into its place, or into scratch from block v - 1 on. */
static int at_root(const struct pl_call *call, const struct pl_rooted *me,
                   const struct pl_tree *tree)
{
    int rc = MPI_SUCCESS;
    size_t packed = 0;
    char *scratch = NULL;
    MPI_Request *requests = pl_requests(call->comm, tree->children);
    for (int i = 0; i < tree->children; i++)
        if (!pl_root_range(call, me, pl_child(tree, i), pl_child_span(tree, i)))
            packed += (size_t)pl_child_span(tree, i) * (size_t)me->bytes;
    if (packed > 0)
        scratch = pl_scratch(call->comm, PL_SLOT_RECV, packed);
    PL_NEED(call, requests && (packed == 0 || scratch));

    size_t at = 0;
    for (int i = 0; i < tree->children; i++) {
        const int child = pl_child(tree, i), bytes = pl_child_span(tree, i) * me->bytes;
        char *range = pl_root_range(call, me, child, pl_child_span(tree, i));
        PL_TRY(pl_peer_irecv(call, range ? range : scratch + at, bytes, MPI_BYTE,
                             pl_to_rank(child, me->root, me->p), TAG, me->peers, &requests[i]));
        at += range ? 0 : (size_t)bytes;
    }
    PL_TRY(pl_root_keeps(call, me->peers));
    at = 0;
    for (int i = 0; i < tree->children; i++) {
        const int child = pl_child(tree, i), span = pl_child_span(tree, i);
        PL_TRY(pl_peer_wait(call, &requests[i]));
        if (pl_root_range(call, me, child, span))
            continue;
        PL_TRY(unpack_range(call, me, scratch + at, child, span));
        at += (size_t)span * (size_t)me->bytes;
    }
out:
    return rc;
}

static int below(const struct pl_call *call, const struct pl_rooted *me, const struct pl_tree *tree)
{
    int rc = MPI_SUCCESS;
    const struct pl_block block = pl_own_block(call, me->rank);
    const size_t bytes = (size_t)me->bytes;
    const void *subtree;
    if (tree->children == 0) {
        PL_TRY(pl_block_bytes(&block, PL_SLOT_SEND, call->comm, &subtree));
    } else {
        char *blocks = pl_scratch(call->comm, PL_SLOT_SEND, (size_t)tree->span * bytes);
        MPI_Request *requests = pl_requests(call->comm, tree->children);
        PL_NEED(call, blocks && requests);
        for (int i = 0; i < tree->children; i++) {
            const int child = pl_child(tree, i);
            PL_TRY(pl_peer_irecv(call, blocks + (size_t)(child - me->v) * bytes,
                                 pl_child_span(tree, i) * me->bytes, MPI_BYTE,
                                 pl_to_rank(child, me->root, me->p), TAG, me->peers, &requests[i]));
        }
        PL_TRY(pl_pack(block.buf, block.count, block.type, blocks, me->bytes, call->comm));
        PL_TRY(pl_peer_wait_all(call, tree->children, requests));
        subtree = blocks;
    }
    PL_TRY(pl_peer_send(call, subtree, tree->span * me->bytes, MPI_BYTE,
                        pl_to_rank(tree->parent, me->root, me->p), TAG, me->peers));
out:
    return rc;
}

int pl_tree_gather(const struct pl_call *call)
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
