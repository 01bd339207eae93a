/* Bcast on two levels, pipelined: segments go down a binary tree of one rank a node and, while the
 * next ones come, down a binary tree inside each node. In its own node the root stands for the
 * first rank.
 *
 * Source: the binary tree of Pjesivac-Grbovic, Angskun, Bosilca, Fagg, Gabriel, Dongarra, Cluster
 * Computing 10(2), 2007, on the two levels of Karonis et al., IPDPS 2000. SimGrid has the same as
 * SMP_binary.
 * Cost: at most (2 log2 N + 2 log2 m + 4 n/s) (a + s b) on N nodes of m ranks with segments of s
 * bytes, of which two messages a segment from each node are paid between nodes.
 * Restrictions: none; any root, any layout; one node is a binary tree.
 * Messages: at most 4 ceil(n/s) from a rank, four of them open at a time with each neighbour.
 * Scratch: n bytes on ranks with a derived type. */
#include "bcast.h"
#include "parameters.h"
#include "teams.h"

/* Adds the neighbours in the binary tree of a team, whose places are counted from `top`. */
static void join(const struct pl_team *team, int top, struct pl_route *route, int *child)
{
    if (team->mine < 0)
        return;
    const struct pl_tree tree = pl_kary(pl_from_root(team->mine, top, team->size), team->size, 2);
    if (tree.parent >= 0)
        route->parent = pl_team_rank(team, pl_to_rank(tree.parent, top, team->size));
    for (int i = 0; i < tree.children; i++)
        child[route->children++] =
            pl_team_rank(team, pl_to_rank(pl_child(&tree, i), top, team->size));
}

static int run(const struct pl_call *call)
{
    int rc, child[4];
    struct pl_bcast bcast;
    struct pl_two_levels levels;
    struct pl_route route = {.parent = MPI_PROC_NULL, .child = child};
    PL_TRY(pl_two_levels(call, call->root, 2, &levels));
    PL_TRY(pl_bcast_begin(call, &bcast));
    join(&levels.node, levels.leader, &route, child);
    join(&levels.leaders, levels.top, &route, child); /* last: other nodes are served first */
    PL_TRY(pl_bcast_down(call, &bcast, &route, call->values[0]));
    PL_TRY(pl_bcast_end(call, &bcast));
out:
    return rc;
}

PL_DESCRIBE(PL_ALGORITHM, bcast, bcast_hierarchical_binary, run,
            "binary trees between nodes and inside them, in segments", .scratch_volumes = 1,
            .parameters = {PL_BCAST_SEGMENT}, .least_ranks = 4);
