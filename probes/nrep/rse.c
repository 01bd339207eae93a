/* Relative standard error of the mean, after Tukey's filter: s / (sqrt(n) x̄); Hunold et al.,
 * Euro-Par 2016, section 4.2 (SKaMPI stops at 0.1). It takes the samples for independent: where
 * they are not, the mean is less certain than it says. */
#include "nrep/nrep.h"
#include "nrep/sorted.h"

#include <math.h>

static double value(const int64_t *ns, int count, int window, double *room)
{
    (void)window;
    if (count < 2)
        return NAN;
    pl_sorted_fill(room, ns, count);
    struct pl_spread spread = pl_sorted_filtered(room, count);
    if (spread.count < 2 || !(spread.mean > 0))
        return NAN;
    return spread.deviation / (sqrt(spread.count) * spread.mean);
}

const struct pl_criterion pl_criterion_rse = {
    .name = "rse",
    .summary = "relative standard error of the mean, after Tukey's filter",
    .value = value,
};
