/* HCA: slopes between pairs in ⌈log2 p⌉ rounds, merged along a binomial tree; then the root
 * measures each intercept itself, in p - 1 rounds (Hunold and Carpen-Amarie, EuroMPI 2015, first
 * variant). Intercepts are as good as SKaMPI's, at the price of a second part that does not scale.
 */
#include "clock/algorithms/algorithms.h"
#include "clock/algorithms/tree.h"

static struct pl_model learn(struct pl_wire *wire)
{
    struct pl_model model = pl_tree_merged(wire, pl_learn, pl_teach);
    for (int client = 1; client < wire->size && wire->rank == 0; client++)
        pl_teach_offset(wire, client, &PL_MODEL_IDENTITY);
    if (wire->rank > 0) {
        struct pl_model intercept = pl_learn_offset(wire, 0);
        model.origin_ns = intercept.origin_ns;
        model.offset_ns = intercept.offset_ns;
    }
    return model;
}

const struct pl_clock_sync pl_clock_sync_hca = {
    .name = "hca",
    .summary = "slopes along a tree in log2 p rounds, intercepts from the root",
    .learn = learn,
};
