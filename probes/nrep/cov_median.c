/* Coefficient of variation of the last `window` running medians, each of all samples up to then,
 * not filtered: Hunold et al., Euro-Par 2016, section 4.2. It tells that the median has come to
 * rest, not that it is right. */
#include "nrep/nrep.h"
#include "nrep/sorted.h"

static double median(const double *sorted, int count)
{
    return pl_sorted_quantile(sorted, count, 0.5);
}

static double value(const int64_t *ns, int count, int window, double *room)
{
    return pl_running_variation(ns, count, window, room, median);
}

const struct pl_criterion pl_criterion_cov_median = {
    .name = "cov_median",
    .summary = "coefficient of variation of the last running medians",
    .window = 20,
    .value = value,
};
