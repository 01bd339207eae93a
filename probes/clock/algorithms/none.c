/* No synchronisation: every timer is taken for the global clock. Shows what the others are for; the
 * residual error that the run measures is that of the bare timers. */
#include "clock/algorithms/algorithms.h"

static struct pl_model learn(struct pl_wire *wire)
{
    (void)wire;
    return PL_MODEL_IDENTITY;
}

const struct pl_clock_sync pl_clock_sync_none = {
    .name = "none",
    .summary = "timers as they are",
    .learn = learn,
};
