/* Coefficient of variation of the last `window` running means, each of all samples up to then, as
 * Hunold et al. (Euro-Par 2016), section 4.2, publish it: cov_mean leaves outliers out. */
#include "nrep/nrep.h"
#include "nrep/sorted.h"

static double mean(const double *sorted, int count)
{
    double sum = 0;
    for (int i = 0; i < count; i++)
        sum += sorted[i];
    return sum / count;
}

static double value(const int64_t *ns, int count, int window, double *room)
{
    return pl_running_variation(ns, count, window, room, mean);
}

const struct pl_criterion pl_criterion_cov_mean_plain = {
    .name = "cov_mean_plain",
    .summary = "coefficient of variation of the last running means of all samples",
    .window = 20,
    .value = value,
};
