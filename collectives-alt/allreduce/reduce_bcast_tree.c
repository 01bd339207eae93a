/* Allreduce up and down one k-nomial tree with rank 0 on top.
 *
 * Source: the reduce + bcast algorithm of Thakur, Rabenseifner, Gropp, IJHPCA 19(1), 2005 (k = 2).
 * Cost, for k = radix: 2 (k-1) ceil(log_k p) (a + n b) + (k-1) ceil(log_k p) n g at most.
 * Restrictions: none. Subtrees are runs of ranks: the order is kept.
 * Parameter: radix.
 * Messages: one up and one down from and to every rank but 0, on the private communicator.
 * Scratch: on inner ranks messages of up to 64 KiB, or one, that are open; one more vector in place
 * if the operation is not commutative. */
#include "incoming.h"
#include "parameters.h"
#include "reductions.h"
#include "trees.h"

static int run(const struct pl_call *call)
{
    int rc, p, rank;
    struct pl_partial partial;
    const struct pl_range all = {0, call->recvcount};
    PL_TRY(pl_ranks(call, &p, &rank));
    PL_TRY(pl_partial_start(&partial, call, call->recvcount, true));
    PL_TRY(pl_reduce_up_tree(&partial, p, rank, 0, call->values[0]));

    const struct pl_tree tree = pl_knomial(rank, p, call->values[0]);
    if (rank == 0)
        PL_TRY(pl_partial_finish(&partial, all));
    else
        PL_TRY(pl_receive_range(&partial, all, tree.parent));
    for (int i = tree.children - 1; i >= 0; i--)
        PL_TRY(pl_send_range(&partial, all, pl_child(&tree, i)));
out:
    return rc;
}

PL_DESCRIBE(PL_ALGORITHM, allreduce, allreduce_reduce_bcast_tree, run,
            "up and down one k-nomial tree (Thakur et al. 2005 for k = 2)", .scratch_volumes = 3,
            .scratch_bytes = PL_INCOMING_MOST,
            .parameters = {PL_RADIX(2, "k: each level has k - 1 subtrees", 2, 3, 4, 8, 16)});
