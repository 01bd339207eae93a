/* Bcast on two levels: from the root to one rank of every node, from there inside the nodes; both
 * on k-nomial trees. In its own node the root stands for the first rank.
 *
 * Source: Karonis, de Supinski, Foster, Gropp, Lusk, Bresnahan, IPDPS 2000 (several levels).
 * Cost: (radix-1) (ceil(log_radix N) + ceil(log_radix m)) (a + n b) on N nodes of m ranks, of which
 * the first term is paid between nodes.
 * Restrictions: none; one node is a k-nomial tree.
 * Messages: one to every rank but the root, on the private communicator.
 * Scratch: none; with a derived type n bytes. */
#include "parameters.h"
#include "teams.h"

static int run(const struct pl_call *call)
{
    int rc, p, rank;
    struct pl_two_levels levels;
    PL_TRY(pl_ranks(call, &p, &rank));
    PL_TRY(pl_two_levels(call, call->root, call->values[0], &levels));

    const int n = (int)pl_volume(call);
    void *bytes;
    PL_TRY(pl_landing(call, n, PL_SLOT_RECV, &bytes));
    const bool packed = bytes != call->recvbuf;
    if (packed && rank == call->root)
        PL_TRY(pl_pack(call->recvbuf, call->recvcount, call->recvtype, bytes, n, call->comm));
    PL_TRY(pl_team_bcast(&levels.leaders, levels.top, bytes, n, MPI_BYTE));
    PL_TRY(pl_team_bcast(&levels.node, levels.leader, bytes, n, MPI_BYTE));
    if (packed && rank != call->root)
        PL_TRY(pl_unpack(bytes, n, call->recvbuf, call->recvcount, call->recvtype, call->comm));
out:
    return rc;
}

PL_DESCRIBE(PL_ALGORITHM, bcast, bcast_hierarchical, run,
            "between nodes, then inside them, on k-nomial trees (Karonis et al. 2000)",
            .scratch_volumes = 1, .parameters = {PL_LEVELS_RADIX});
