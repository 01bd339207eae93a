/* Bcast on a star: the root starts a message to every other rank and waits for all of them.
 *
 * Source: the linear algorithm of Pjesivac-Grbovic, Angskun, Bosilca, Fagg, Gabriel, Dongarra,
 * Cluster Computing 10(2), 2007.
 * Cost: (p-1) (a + n b).
 * Restrictions: none; any root, any layout.
 * Messages: p - 1 of n bytes, all open at once; bytes of the packed vector, where bcast_naive_send
 * hands the user's datatype to one MPI_Send after another.
 * Scratch: n bytes on ranks with a derived type, p - 1 requests at the root. */
#include "bcast.h"

#include <limits.h>

static int run(const struct pl_call *call)
{
    int rc;
    struct pl_bcast bcast;
    PL_TRY(pl_bcast_begin(call, &bcast));
    const struct pl_tree tree = pl_knomial(bcast.v, bcast.p, INT_MAX);
    PL_TRY(pl_bcast_down(call, &bcast, &tree, INT_MAX));
    PL_TRY(pl_bcast_end(call, &bcast));
out:
    return rc;
}

const struct pl_variant pl_bcast_linear = {
    .name = "bcast_linear",
    .function = PL_FN_bcast,
    .kind = PL_ALGORITHM,
    .restrictions = PL_ANY,
    .summary = "the root sends to all at once (linear)",
    .scratch_volumes = 1,
    .run = run,
};
