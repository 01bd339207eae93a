/* HCA3: down a binomial tree, ⌈log2 p⌉ rounds; the parent knows the global time already, and the
 * child fits its line against that (Hunold and Carpen-Amarie, Hierarchical clock synchronization in
 * MPI, IEEE CLUSTER 2018). Nothing is merged, so no slope is multiplied by another's error. */
#include "clock/algorithms/algorithms.h"
#include "clock/learn.h"

static struct pl_model learn(struct pl_wire *wire)
{
    struct pl_model model = PL_MODEL_IDENTITY;
    int bit = 1;
    while (bit < wire->size && !(wire->rank & bit))
        bit <<= 1;
    if (wire->rank > 0)
        model = pl_learn(wire, wire->rank - bit);
    for (bit >>= 1; bit > 0; bit >>= 1)
        if (wire->rank + bit < wire->size)
            pl_teach(wire, wire->rank + bit, &model);
    return model;
}

const struct pl_clock_sync pl_clock_sync_hca3 = {
    .name = "hca3",
    .summary = "lines fitted against the global clock of the parent, log2 p rounds",
    .learn = learn,
};
