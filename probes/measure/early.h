/* Whether a rank leaves a barrier before all have entered it.
 *
 * A barrier has no result to compare. Here one rank, `late`, enters it only when all others have
 * said that they are about to; one of them that by then also says that it is through has not
 * waited. Messages decide, no clocks: who is found is guilty. Who leaves early and is slow to say
 * so is not found. */
#ifndef PL_EARLY_H
#define PL_EARLY_H

#include "measure/world.h"

/* Before the call. At `late`: a rank that is through, or -1. Elsewhere -1. */
int pl_early_before(const struct pl_world *world, int late);
/* After the call, whatever it returned. */
void pl_early_after(const struct pl_world *world, int late);

#endif
