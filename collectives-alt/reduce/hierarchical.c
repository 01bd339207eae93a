/* Reduce on two levels: inside each node to one rank, then between these to the root; both on
 * k-nomial trees. In its own node the root stands for the first rank.
 *
 * Source: Karonis, de Supinski, Foster, Gropp, Lusk, Bresnahan, IPDPS 2000 (several levels).
 * Cost: (radix-1) (ceil(log_radix N) + ceil(log_radix m)) (a + n b + n g) on N nodes of m ranks, of
 * which the first term is paid between nodes.
 * Restrictions: the operation must be commutative: trees begin at the root, and nodes may have any
 * ranks.
 * Messages: one from every rank but the root, on the private communicator.
 * Scratch: on inner ranks messages of up to 64 KiB, or one, that are open; the sum on all of
 * them but the root; one vector to copy a derived type. */
#include "incoming.h"
#include "parameters.h"
#include "teams.h"

static int run(const struct pl_call *call)
{
    int rc, p, rank;
    struct pl_two_levels levels;
    PL_TRY(pl_ranks(call, &p, &rank));
    PL_TRY(pl_two_levels(call, call->root, call->values[0], &levels));

    const bool root = rank == call->root;
    const void *value = root ? pl_operand(call) : call->sendbuf;
    PL_TRY(pl_team_reduce(&levels.node, levels.leader, call, &value, root, call->recvbuf));
    const bool is_sum = !root && value != call->sendbuf; /* in memory that may be written */
    PL_TRY(pl_team_reduce(&levels.leaders, levels.top, call, &value, root || is_sum,
                          is_sum ? (void *)value : call->recvbuf));
    if (root && value != call->recvbuf)
        PL_TRY(pl_copy(value, call->recvbuf, call->recvcount, call->recvtype, call->comm));
out:
    return rc;
}

PL_DESCRIBE(PL_ALGORITHM, reduce, reduce_hierarchical, run,
            "inside nodes, then between them, on k-nomial trees (Karonis et al. 2000)",
            .restrictions = PL_COMMUTATIVE, .scratch_volumes = 3, .scratch_bytes = PL_INCOMING_MOST,
            .parameters = {PL_LEVELS_RADIX});
