/* Coefficient of variation of the last `window` running medians, each of all samples up to then,
 * not filtered: seed 000, section 4.2. It tells that the median has come to rest, not that it is
 * right.
 */
#include "nrep/nrep.h"
#include "nrep/sorted.h"

#include <math.h>

static double value(const int64_t *ns, int count, int window, double *room)
{
    double *sorted = room, *medians = room + count;
    if (count < window)
        return NAN;
    int known = count - window;
    pl_sorted_fill(sorted, ns, known);
    for (int i = 0; i < window; i++, known++) {
        pl_sorted_insert(sorted, known, (double)ns[known]);
        medians[i] = pl_sorted_quantile(sorted, known + 1, 0.5);
    }
    return pl_variation(medians, window);
}

const struct pl_criterion pl_criterion_cov_median = {
    .name = "cov_median",
    .summary = "coefficient of variation of the last running medians",
    .window = 20,
    .value = value,
};
