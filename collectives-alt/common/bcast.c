/* Phases of Bcast on bytes: down a tree, and scatter of p blocks. */
#include "bcast.h"

#include <limits.h>

enum { TAG_DOWN = 10, TAG_SCATTER = 11 };

int pl_bcast_begin(const struct pl_call *call, struct pl_bcast *bcast)
{
    int rc, rank;
    void *bytes;
    PL_TRY(pl_ranks(call, &bcast->p, &rank));
    PL_TRY(pl_private(call->comm, &bcast->peers));
    bcast->root = call->root;
    bcast->v = pl_from_root(rank, call->root, bcast->p);
    bcast->n = (int)pl_volume(call);
    PL_TRY(pl_landing(call, bcast->n, PL_SLOT_RECV, &bytes));
    bcast->bytes = bytes;
    if (bcast->v == 0 && bytes != call->recvbuf && bcast->p > 1)
        PL_TRY(
            pl_pack(call->recvbuf, call->recvcount, call->recvtype, bytes, bcast->n, call->comm));
out:
    return rc;
}

int pl_bcast_end(const struct pl_call *call, const struct pl_bcast *bcast)
{
    return bcast->v == 0 ? MPI_SUCCESS : pl_deliver(call, bcast->bytes, bcast->n, 1);
}

enum { OPEN = PL_BCAST_OPEN };

static int length_of(int n, int segment, int i)
{
    const int left = n - i * segment;
    return left < segment ? left : segment;
}

/* Segment i uses slot i mod OPEN: a request with the parent, and those with the children. */
int pl_bcast_down(const struct pl_call *call, const struct pl_bcast *bcast,
                  const struct pl_route *route, int segment)
{
    int rc = MPI_SUCCESS;
    const int n = bcast->n, children = route->children, size = segment < n ? segment : n;
    const int segments = n == 0 ? 0 : n / size + (n % size > 0);
    MPI_Request incoming[OPEN], *sends = pl_requests(call->comm, OPEN * children);
    PL_NEED(call, sends);
    for (int i = 0; i < OPEN * children; i++)
        sends[i] = MPI_REQUEST_NULL;

    for (int i = -OPEN; i < segments; i++) {
        const int slot = (i + OPEN) % OPEN, next = i + OPEN;
        if (i >= 0)
            PL_TRY(pl_peer_wait(call, &incoming[slot]));
        if (next < segments)
            PL_TRY(pl_peer_irecv(call, bcast->bytes + next * size, length_of(n, size, next),
                                 MPI_BYTE, route->parent, TAG_DOWN, bcast->peers, &incoming[slot]));
        if (i < 0)
            continue;
        MPI_Request *mine = sends + slot * children;
        PL_TRY(pl_peer_wait_all(call, children, mine));
        for (int child = children - 1; child >= 0; child--)
            PL_TRY(pl_peer_isend(call, bcast->bytes + i * size, length_of(n, size, i), MPI_BYTE,
                                 route->child[child], TAG_DOWN, bcast->peers, &mine[child]));
    }
    PL_TRY(pl_peer_wait_all(call, OPEN * children, sends));
out:
    return rc;
}

static int by(const struct pl_call *call, int radix, int fan_out, int segment)
{
    int rc;
    struct pl_bcast bcast;
    PL_TRY(pl_bcast_begin(call, &bcast));
    const int p = bcast.p, root = bcast.root;
    const struct pl_tree tree =
        radix ? pl_knomial(bcast.v, p, radix) : pl_kary(bcast.v, p, fan_out);
    int *child = pl_scratch(call->comm, PL_SLOT_AUX, (size_t)tree.children * sizeof *child);
    PL_NEED(call, child);
    for (int i = 0; i < tree.children; i++)
        child[i] = pl_to_rank(pl_child(&tree, i), root, p);
    const struct pl_route route = {
        .parent = tree.parent < 0 ? MPI_PROC_NULL : pl_to_rank(tree.parent, root, p),
        .children = tree.children,
        .child = child,
    };
    PL_TRY(pl_bcast_down(call, &bcast, &route, segment));
    PL_TRY(pl_bcast_end(call, &bcast));
out:
    return rc;
}

int pl_bcast_by_tree(const struct pl_call *call)
{
    return by(call, call->values[0], 0, INT_MAX);
}

int pl_bcast_by_segments(const struct pl_call *call)
{
    return by(call, 0, call->values[1], call->values[0]);
}

int pl_bcast_cut(const struct pl_bcast *bcast, int blocks, int i)
{
    const long long first = (long long)i * (bcast->n / blocks + (bcast->n % blocks > 0));
    return first < bcast->n ? (int)first : bcast->n;
}

int pl_bcast_scatter(const struct pl_call *call, const struct pl_bcast *bcast, int blocks)
{
    int rc = MPI_SUCCESS;
    const struct pl_tree tree = pl_knomial(bcast->v, blocks, 2);
    const int first = pl_bcast_cut(bcast, blocks, bcast->v);
    const int length = pl_bcast_cut(bcast, blocks, bcast->v + tree.span) - first;
    if (bcast->v > 0 && length > 0)
        PL_TRY(pl_peer_recv(call, bcast->bytes + first, length, MPI_BYTE,
                            pl_to_rank(tree.parent, bcast->root, bcast->p), TAG_SCATTER,
                            bcast->peers));
    for (int i = tree.children - 1; i >= 0; i--) {
        const int child = pl_child(&tree, i), start = pl_bcast_cut(bcast, blocks, child);
        const int part = pl_bcast_cut(bcast, blocks, child + pl_child_span(&tree, i)) - start;
        if (part > 0)
            PL_TRY(pl_peer_send(call, bcast->bytes + start, part, MPI_BYTE,
                                pl_to_rank(child, bcast->root, bcast->p), TAG_SCATTER,
                                bcast->peers));
    }
out:
    return rc;
}
