/* SKaMPI: the root measures the offset to every process, one after the other (Worsch, Reussner and
 * Augustin, On benchmarking collective MPI operations, EuroPVM/MPI 2002, section 3). No slope, so
 * the error grows with the drift of the clocks. p - 1 rounds. */
#include "clock/algorithms/algorithms.h"
#include "clock/learn.h"

static struct pl_model learn(struct pl_wire *wire)
{
    if (wire->rank > 0)
        return pl_learn_offset(wire, 0);
    for (int client = 1; client < wire->size; client++)
        pl_teach_offset(wire, client, &PL_MODEL_IDENTITY);
    return PL_MODEL_IDENTITY;
}

const struct pl_clock_sync pl_clock_sync_skampi = {
    .name = "skampi",
    .summary = "offsets to the root, p - 1 rounds; no drift",
    .learn = learn,
};
