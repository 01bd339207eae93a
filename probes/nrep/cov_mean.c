/* Coefficient of variation of the last `window` running means, each of all samples up to then,
 * after Tukey's filter: seed 000, section 4.2. It tells that the mean has come to rest, not that it
 * is right: also the mean of a series that drifts slowly rests. */
#include "nrep/nrep.h"
#include "nrep/sorted.h"

#include <math.h>

static double value(const int64_t *ns, int count, int window, double *room)
{
    double *sorted = room, *means = room + count;
    if (count < window)
        return NAN;
    int known = count - window;
    pl_sorted_fill(sorted, ns, known);
    for (int i = 0; i < window; i++, known++) {
        pl_sorted_insert(sorted, known, (double)ns[known]);
        means[i] = pl_sorted_filtered(sorted, known + 1).mean;
    }
    return pl_variation(means, window);
}

const struct pl_criterion pl_criterion_cov_mean = {
    .name = "cov_mean",
    .summary = "coefficient of variation of the last running means, after Tukey's filter",
    .window = 20,
    .value = value,
};
