/* Relative standard error of the mean of all samples, s / (sqrt(n) x̄), as Hunold et al. (Euro-Par
 * 2016), section 4.2, publish it: rse leaves outliers out first and so stops earlier. */
#include "nrep/nrep.h"
#include "nrep/sorted.h"

#include <math.h>

static double value(const int64_t *ns, int count, int window, double *room)
{
    (void)window;
    for (int i = 0; i < count; i++)
        room[i] = (double)ns[i];
    return pl_variation(room, count) / sqrt(count);
}

const struct pl_criterion pl_criterion_rse_plain = {
    .name = "rse_plain",
    .summary = "relative standard error of the mean of all samples",
    .value = value,
};
