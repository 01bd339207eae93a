/* Gatherv and Scatterv on a k-nomial tree of bundles: see gatherv/bundled_tree.c and its sister in
 * scatterv/. Ranks are counted from the root. A subtree's ranks follow one another, and so do their
 * blocks in a bundle. */
#include "bundles.h"
#include <string.h>

enum { TAG = 28 };

/* --- Gatherv: what comes in behind `most` bytes goes to the root at once, so no rank ever has more
 * than twice as many, and the length of a message says all --- */

/* Leaves in pending[v] what v hands to its parent. */
static void plan_gather(struct pl_bundles *bundles, int radix, int most, int v)
{
    const struct pl_tree tree = pl_knomial(v, bundles->p, radix);
    struct pl_bundle *pending = &bundles->pending[v];
    for (int i = 0; i < tree.children; i++) {
        const int child = pl_child(&tree, i);
        plan_gather(bundles, radix, most, child);
        if (v == 0) {
            pl_bundle_make(bundles, &bundles->pending[child], child, true);
            continue;
        }
        pl_bundle_append(bundles, pending, &bundles->pending[child]);
        if (pending->bytes > most) {
            pl_bundle_make(bundles, pending, v, false);
            pending->bytes = 0;
        }
    }
}

static int pass_up(const struct pl_call *call, const struct pl_rooted *me,
                   const struct pl_tree *tree, int most, int own)
{
    int rc = MPI_SUCCESS, at = own, more;
    const struct pl_block block = pl_own_block(call, me->rank);
    const void *bundle = NULL;
    if (tree->children == 0) {
        if (own > 0)
            PL_TRY(pl_block_bytes(&block, PL_SLOT_SEND, call->comm, &bundle));
    } else {
        MPI_Status status;
        char *bytes = pl_scratch(call->comm, PL_SLOT_SEND, 2 * (size_t)most);
        PL_NEED(call, bytes);
        if (own > 0)
            PL_TRY(pl_pack(block.buf, block.count, block.type, bytes, own, call->comm));
        for (int i = 0; i < tree->children; i++) {
            PL_TRY(pl_raise(call->comm, PL_MPI(Recv)(bytes + at, most, MPI_BYTE,
                                                     pl_to_rank(pl_child(tree, i), me->root, me->p),
                                                     TAG, me->peers, &status)));
            PL_TRY(pl_raise(call->comm, PL_MPI(Get_count)(&status, MPI_BYTE, &more)));
            at += more;
            if (at > most) {
                PL_TRY(pl_peer_send(call, bytes, at, MPI_BYTE, me->root, TAG, me->peers));
                at = 0;
            }
        }
        bundle = bytes;
    }
    PL_TRY(pl_peer_send(call, bundle, at, MPI_BYTE, pl_to_rank(tree->parent, me->root, me->p), TAG,
                        me->peers));
out:
    return rc;
}

/* --- Scatterv: in front of the bytes for several ranks there is a number for each of them, the
 * length of its block. At a rank whose subtree gets a bundle of its own from the root there is
 * APART, and an empty message from its parent tells it so --- */

enum { APART = -1 };

/* The bundle of v and its subtree, with the numbers in `head`. */
static void make_scatter(struct pl_bundles *bundles, const struct pl_tree *tree, const int *head)
{
    struct pl_bundle *bundle = &bundles->pending[tree->v];
    bundle->heads = tree->span > 1 ? tree->span : 0;
    bundle->head = head + tree->v;
    pl_bundle_make(bundles, bundle, tree->v, bundle->heads > 0);
}

static void plan_scatter(struct pl_bundles *bundles, int radix, int most, int *head, int v)
{
    const struct pl_tree tree = pl_knomial(v, bundles->p, radix);
    struct pl_bundle *pending = &bundles->pending[v];
    head[v] = pending->bytes;
    for (int i = 0; i < tree.children; i++) {
        const int child = pl_child(&tree, i);
        struct pl_bundle *below = &bundles->pending[child];
        plan_scatter(bundles, radix, most, head, child);
        if (v > 0 && below->bytes <= most - pending->bytes) {
            pl_bundle_append(bundles, pending, below);
            continue;
        }
        const struct pl_tree subtree = pl_knomial(child, bundles->p, radix);
        make_scatter(bundles, &subtree, head);
        head[child] = v > 0 ? APART : head[child];
    }
}

/* Bytes in a bundle for the ranks of the subtree of v; `head` begins at v. */
static int bytes_below(const int *head, int v, int p, int radix)
{
    const int span = pl_knomial(v, p, radix).span;
    int bytes = head[0];
    for (int i = 1; i < span;) {
        const bool apart = head[i] == APART;
        bytes += apart ? 0 : head[i];
        i += apart ? pl_knomial(v + i, p, radix).span : 1;
    }
    return bytes;
}

/* `end`: where the bytes for later children begin. */
static int pass_to_child(const struct pl_call *call, const struct pl_rooted *me,
                         const struct pl_tree *tree, int i, const int *head, const char **end)
{
    int rc = MPI_SUCCESS, length = 0;
    const int child = pl_child(tree, i), span = pl_child_span(tree, i);
    const size_t heads = span > 1 ? (size_t)span * sizeof *head : 0;
    const void *message = NULL;
    head += child - me->v;
    if (head[0] != APART) {
        const int bytes = bytes_below(head, child, me->p, tree->radix);
        *end -= bytes;
        message = *end;
        length = (int)heads + bytes;
        if (length == 0)
            return MPI_SUCCESS; /* a leaf knows that it gets nothing */
    }
    if (length > 0 && heads > 0) {
        char *both = pl_scratch(call->comm, PL_SLOT_SEND, (size_t)length);
        PL_NEED(call, both);
        memcpy(both, head, heads);
        memcpy(both + heads, message, (size_t)length - heads);
        message = both;
    }
    PL_TRY(pl_peer_send(call, message, length, MPI_BYTE, pl_to_rank(child, me->root, me->p), TAG,
                        me->peers));
out:
    return rc;
}

/* From the parent, or from the root where that sends nothing. */
static int receive(const struct pl_call *call, const struct pl_rooted *me,
                   const struct pl_tree *tree, void *bytes, int most, int *count)
{
    int rc;
    MPI_Status status;
    PL_TRY(pl_raise(call->comm,
                    PL_MPI(Recv)(bytes, most, MPI_BYTE, pl_to_rank(tree->parent, me->root, me->p),
                                 TAG, me->peers, &status)));
    PL_TRY(pl_raise(call->comm, PL_MPI(Get_count)(&status, MPI_BYTE, count)));
    if (*count > 0)
        return rc;
    PL_TRY(pl_raise(call->comm,
                    PL_MPI(Recv)(bytes, most, MPI_BYTE, me->root, TAG, me->peers, &status)));
    PL_TRY(pl_raise(call->comm, PL_MPI(Get_count)(&status, MPI_BYTE, count)));
out:
    return rc;
}

static int pass_down(const struct pl_call *call, const struct pl_rooted *me,
                     const struct pl_tree *tree, int most, int own)
{
    int rc = MPI_SUCCESS, count;
    void *landing;
    if (tree->children == 0) {
        if (own == 0)
            return rc;
        PL_TRY(pl_landing(call, own, PL_SLOT_RECV, &landing));
        PL_TRY(receive(call, me, tree, landing, own, &count));
        return pl_deliver(call, landing, own, 1);
    }
    const size_t heads = (size_t)tree->span * sizeof(int);
    int *head = pl_scratch(call->comm, PL_SLOT_RECV, heads + (size_t)most);
    PL_NEED(call, head);
    PL_TRY(receive(call, me, tree, head, (int)heads + most, &count));
    const char *bytes = (char *)head + heads, *end = (char *)head + count;
    for (int i = tree->children - 1; i >= 0; i--)
        PL_TRY(pass_to_child(call, me, tree, i, head, &end));
    if (own > 0)
        PL_TRY(pl_unpack(bytes, own, call->recvbuf, call->recvcount, call->recvtype, call->comm));
out:
    return rc;
}

/* --- both --- */

static int at_root(const struct pl_call *call, const struct pl_rooted *me, int radix, int most)
{
    int rc;
    struct pl_bundles bundles;
    int *head = pl_scratch(call->comm, PL_SLOT_WORK, (size_t)me->p * sizeof *head);
    PL_NEED(call, head);
    PL_TRY(pl_bundles_begin(call, me, most, 2 * me->p, &bundles));
    if (pl_gathers(call))
        plan_gather(&bundles, radix, most, 0);
    else
        plan_scatter(&bundles, radix, most, head, 0);
    PL_TRY(pl_bundles_exchange(call, me, most, TAG, &bundles));
out:
    return rc;
}

int pl_bundled_tree(const struct pl_call *call)
{
    int rc;
    struct pl_rooted me;
    struct pl_long blocks;
    const int radix = call->values[0], most = call->values[1];
    PL_TRY(pl_rooted_begin(call, &me));
    if (me.v == 0)
        return at_root(call, &me, radix, most);
    const struct pl_tree tree = pl_knomial(me.v, me.p, radix);
    const struct pl_portion portion = pl_own_portion(call);
    const int own = pl_short_bytes(&portion, most);
    PL_TRY(pl_long_begin(call, &me, most, &blocks));
    PL_TRY(pl_gathers(call) ? pass_up(call, &me, &tree, most, own)
                            : pass_down(call, &me, &tree, most, own));
    PL_TRY(pl_long_end(call, &blocks));
out:
    return rc;
}
