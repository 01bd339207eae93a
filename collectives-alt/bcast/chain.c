/* Bcast on a chain, pipelined: rank after rank, counted from the root, passes on each segment while
 * it receives the next.
 *
 * Source: the pipeline of Pjesivac-Grbovic, Angskun, Bosilca, Fagg, Gabriel, Dongarra, Cluster
 * Computing 10(2), 2007.
 * Cost: (p - 2 + n/s) (a + s b) with segments of s bytes.
 * Restrictions: none; any root, any layout.
 * Messages: ceil(n/s) from every rank but the last, four of them open at a time.
 * Scratch: n bytes on ranks with a derived type. */
#include "bcast.h"
#include "parameters.h"

static int run(const struct pl_call *call)
{
    int rc;
    struct pl_bcast bcast;
    PL_TRY(pl_bcast_begin(call, &bcast));
    const struct pl_tree tree = pl_kary(bcast.v, bcast.p, 1);
    PL_TRY(pl_bcast_down(call, &bcast, &tree, call->values[0]));
    PL_TRY(pl_bcast_end(call, &bcast));
out:
    return rc;
}

const struct pl_variant pl_bcast_chain = {
    .name = "bcast_chain",
    .function = PL_FN_bcast,
    .kind = PL_ALGORITHM,
    .restrictions = PL_ANY,
    .summary = "chain of all ranks, in segments (pipeline)",
    .scratch_volumes = 1,
    .parameters = {PL_BCAST_SEGMENT},
    .run = run,
};
