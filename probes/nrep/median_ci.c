/* Half width of the 95 % confidence interval of the median, over the median: honest about
 * autocorrelation.
 *
 * The interval is between two order statistics, whatever the distribution: for independent samples
 * those of rank n/2 - 0.98 sqrt(n) and n/2 + 1 + 0.98 sqrt(n) (Le Boudec, Performance Evaluation of
 * Computer and Communication Systems, 2010, section 2.2 and appendix A). The number of samples up
 * to the median is the sum of the indicators x_t <= median; correlation makes its variance tau
 * times as large, tau the integrated autocorrelation time of the indicators, and the interval of
 * ranks sqrt(tau) times as wide (Sen, On the Bahadur representation of sample quantiles for
 * sequences of phi-mixing random variables, Journal of Multivariate Analysis 2, 1972; Heidelberger
 * and Lewis, Quantile estimation in dependent sequences, Operations Research 32, 1984).
 *
 * A short series does not know its own correlation: with less than 20 independent values in it (n /
 * tau) nothing is said. */
#include "nrep/correlation.h"
#include "nrep/nrep.h"
#include "nrep/sorted.h"

#include <math.h>

enum { LEAST_INDEPENDENT = 20 };

/* n indicators less their mean. */
static void indicators(double *centred, const int64_t *ns, int count, double median)
{
    int below = 0;
    for (int i = 0; i < count; i++)
        below += (double)ns[i] <= median;
    for (int i = 0; i < count; i++)
        centred[i] = ((double)ns[i] <= median) - (double)below / count;
}

static double value(const int64_t *ns, int count, int window, double *room)
{
    (void)window;
    if (count < LEAST_INDEPENDENT)
        return NAN;
    double *sorted = room, *centred = room + count;
    pl_sorted_fill(sorted, ns, count);
    double median = pl_sorted_quantile(sorted, count, 0.5);
    indicators(centred, ns, count, median);
    double tau = pl_correlation_time(centred, count);
    if (!(median > 0) || !(count / tau >= LEAST_INDEPENDENT))
        return NAN;
    double reach = 0.98 * sqrt(tau * count);
    int low = (int)floor(count / 2.0 - reach), high = (int)ceil(count / 2.0 + 1 + reach);
    if (low < 1 || high > count)
        return NAN;
    return (sorted[high - 1] - sorted[low - 1]) / 2 / median;
}

const struct pl_criterion pl_criterion_median_ci = {
    .name = "median_ci",
    .summary = "half width of the median's 95 % confidence interval, widened by autocorrelation",
    .value = value,
};
