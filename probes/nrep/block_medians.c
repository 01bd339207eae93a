/* Relative standard error of the median, from the medians of blocks: s / (sqrt(k) m), m and s their
 * mean and standard deviation (the method of batch means; Law and Kelton, Simulation Modeling and
 * Analysis, section 9.5.3). Samples of a block are alike; blocks, with all other cases between
 * them, say what time does to a case.
 *
 * Fewer than three blocks do not know how much they differ. */
#include "nrep/nrep.h"
#include "nrep/sorted.h"

#include <math.h>

enum { LEAST_BLOCKS = 3 };

static double value(const int64_t *ns, int count, int window, double *room)
{
    const int blocks = window > 0 ? count / window : 0;
    double *medians = room, *sorted = room + count, sum = 0;
    if (blocks < LEAST_BLOCKS)
        return NAN;
    for (int i = 0; i < blocks; i++) {
        pl_sorted_fill(sorted, ns + (ptrdiff_t)i * window, window);
        medians[i] = pl_sorted_quantile(sorted, window, 0.5);
        sum += medians[i];
    }
    return sum > 0 ? pl_variation(medians, blocks) / sqrt(blocks) : NAN;
}

const struct pl_criterion pl_criterion_block_medians = {
    .name = "block_medians",
    .summary = "relative standard error of the median, from the medians of blocks",
    .of_blocks = true,
    .value = value,
};
