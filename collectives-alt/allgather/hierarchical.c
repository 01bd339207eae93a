/* Allgather on two levels: blocks go to the first rank of each node on a k-nomial tree, in one
 * piece a node around a ring of these, and all together back the tree.
 *
 * Source: Traeff, EuroPVM/MPI 2006 (allgather for clusters of multiprocessors).
 * Cost on N nodes of m ranks: (N-1) a + (N-1)/N n b between nodes; inside (radix-1) ceil(log_radix
 * m) (2 a + n b), and at most n/N b up.
 * Restrictions: none.
 * Messages: one up and one down for every rank that is not first on its node, N - 1 from others,
 * on the private communicator.
 * Scratch: none if nodes have consecutive ranks; else n bytes, where blocks stand node after node.
 * With a derived receive type n bytes more. */
#include "parameters.h"
#include "teams.h"
#include "trees.h"
#include <string.h>

enum { TAG_UP = PL_OWN_TAG, TAG_RING };

/* All blocks in the order of nodes->members. */
struct staged {
    char *base;
    size_t bytes; /* of a block */
};

static int gather(const struct pl_call *call, const struct pl_team *team, struct staged staged)
{
    int rc = MPI_SUCCESS;
    const struct pl_tree tree = pl_knomial(team->mine, team->size, team->radix);
    char *node = staged.base + (size_t)team->nodes->first[team->node] * staged.bytes;
    for (int i = 0; i < tree.children; i++) {
        const int child = pl_child(&tree, i), span = pl_child_span(&tree, i);
        PL_TRY(pl_peer_recv(call, node + (size_t)child * staged.bytes, span * (int)staged.bytes,
                            MPI_BYTE, pl_team_rank(team, child), TAG_UP, team->peers));
    }
    if (tree.parent >= 0)
        PL_TRY(pl_peer_send(call, node + (size_t)team->mine * staged.bytes,
                            tree.span * (int)staged.bytes, MPI_BYTE,
                            pl_team_rank(team, tree.parent), TAG_UP, team->peers));
out:
    return rc;
}

static int ring(const struct pl_call *call, const struct pl_team *team, struct staged staged)
{
    int rc = MPI_SUCCESS;
    const int *first = team->nodes->first, size = team->size;
    if (team->mine < 0)
        return rc;
    const int next = pl_team_rank(team, (team->mine + 1) % size);
    const int previous = pl_team_rank(team, (team->mine + size - 1) % size);
    for (int step = 1, out = team->mine; step < size; step++) {
        const int in = (out + size - 1) % size;
        PL_TRY(pl_peer_sendrecv(call, staged.base + (size_t)first[out] * staged.bytes,
                                (first[out + 1] - first[out]) * (int)staged.bytes, MPI_BYTE, next,
                                TAG_RING, staged.base + (size_t)first[in] * staged.bytes,
                                (first[in + 1] - first[in]) * (int)staged.bytes, MPI_BYTE, previous,
                                TAG_RING, team->peers));
        out = in;
    }
out:
    return rc;
}

static int run(const struct pl_call *call)
{
    int rc, p, rank;
    struct pl_two_levels levels;
    PL_TRY(pl_ranks(call, &p, &rank));
    PL_TRY(pl_two_levels(call, 0, call->values[0], &levels));

    const struct pl_nodes *nodes = levels.node.nodes;
    const struct pl_block own = pl_own_block(call, rank);
    const size_t bytes = (size_t)own.bytes;
    if (bytes == 0)
        return MPI_SUCCESS;
    void *all;
    PL_TRY(pl_landing(call, p * own.bytes, PL_SLOT_RECV, &all));
    struct staged staged = {all, bytes};
    if (!nodes->consecutive)
        staged.base = pl_scratch(call->comm, PL_SLOT_WORK, (size_t)p * bytes);
    PL_NEED(call, staged.base);
    char *mine = staged.base + (size_t)(nodes->first[levels.node.node] + levels.node.mine) * bytes;
    if (mine != own.buf)
        PL_TRY(pl_pack(own.buf, own.count, own.type, mine, own.bytes, call->comm));

    PL_TRY(gather(call, &levels.node, staged));
    PL_TRY(ring(call, &levels.leaders, staged));
    PL_TRY(pl_team_bcast(&levels.node, 0, staged.base, p * own.bytes, MPI_BYTE));
    for (int i = 0; i < p && !nodes->consecutive; i++)
        memcpy((char *)all + (size_t)nodes->members[i] * bytes, staged.base + (size_t)i * bytes,
               bytes);
    PL_TRY(pl_deliver(call, all, p * own.bytes, p));
out:
    return rc;
}

PL_DESCRIBE(PL_ALGORITHM, allgather, allgather_hierarchical, run,
            "trees inside nodes, a ring of pieces between them (Traeff 2006)", .scratch_volumes = 2,
            .parameters = {PL_LEVELS_RADIX});
