/* Barrier on a k-ary tree: ranks report up when all below them have, rank 0 releases them down.
 *
 * Source: Mellor-Crummey, Scott, ACM TOCS 9(1), 1991 (their tree barrier has fan-in 4).
 * Cost: about 2 fan_out log_fan_out p a.
 * Messages: one empty message up and one down for every rank but 0, on the private communicator. */
#include "tools.h"
#include "trees.h"

#include <limits.h>

enum { TAG_UP = PL_OWN_TAG, TAG_DOWN };

static int run(const struct pl_call *call)
{
    int rc, p, rank;
    MPI_Comm peers;
    PL_TRY(pl_ranks(call, &p, &rank));
    PL_TRY(pl_private(call->comm, &peers));
    const struct pl_tree tree = pl_kary(rank, p, call->values[0]);
    for (int i = 0; i < tree.children; i++)
        PL_TRY(pl_peer_recv(call, NULL, 0, MPI_BYTE, pl_child(&tree, i), TAG_UP, peers));
    if (tree.parent >= 0) {
        PL_TRY(pl_peer_send(call, NULL, 0, MPI_BYTE, tree.parent, TAG_UP, peers));
        PL_TRY(pl_peer_recv(call, NULL, 0, MPI_BYTE, tree.parent, TAG_DOWN, peers));
    }
    for (int i = 0; i < tree.children; i++)
        PL_TRY(pl_peer_send(call, NULL, 0, MPI_BYTE, pl_child(&tree, i), TAG_DOWN, peers));
out:
    return rc;
}

PL_DESCRIBE(PL_ALGORITHM, barrier, barrier_tree, run,
            "reports up a k-ary tree, release down (Mellor-Crummey, Scott 1991)",
            .parameters = {{.name = "fan_out",
                            .least = 1,
                            .most = INT_MAX,
                            .standard = 2,
                            .tries = {2, 4, 8},
                            .summary = "children of a rank"}});
