/* Coefficient of variation of the last `window` running means, each of all samples up to then,
 * after Tukey's filter: Hunold et al., Euro-Par 2016, section 4.2. It tells that the mean has come
 * to rest, not that it is right: also the mean of a series that drifts slowly rests. */
#include "nrep/nrep.h"
#include "nrep/sorted.h"

static double mean(const double *sorted, int count)
{
    return pl_sorted_filtered(sorted, count).mean;
}

static double value(const int64_t *ns, int count, int window, double *room)
{
    return pl_running_variation(ns, count, window, room, mean);
}

const struct pl_criterion pl_criterion_cov_mean = {
    .name = "cov_mean",
    .summary = "coefficient of variation of the last running means, after Tukey's filter",
    .window = 20,
    .value = value,
};
