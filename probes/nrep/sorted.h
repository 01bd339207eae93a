/* Order statistics of a series that grows. */
#ifndef PL_SORTED_H
#define PL_SORTED_H

#include <stdint.h>

/* The samples as numbers, ascending. */
void pl_sorted_fill(double *sorted, const int64_t *ns, int count);
/* One more into `count` that are in order. */
void pl_sorted_insert(double *sorted, int count, double value);

/* Linear interpolation between order statistics (Hyndman and Fan, Sample quantiles in statistical
 * packages, The American Statistician 50, 1996: type 7); count > 0, 0 <= share <= 1. */
double pl_sorted_quantile(const double *sorted, int count, double share);

struct pl_spread {
    int count;              /* of what Tukey's filter leaves */
    double mean, deviation; /* deviation: of the sample, n - 1; 0 for one value */
};

/* Mean and standard deviation of the values in [Q1 - 1.5 IQR, Q3 + 1.5 IQR]: Tukey, Exploratory
 * Data Analysis; Hunold and Carpen-Amarie, TPDS 2016, section 3.4. */
struct pl_spread pl_sorted_filtered(const double *sorted, int count);

/* Standard deviation (n - 1) over mean of any values; NAN for less than two or a mean of 0. */
double pl_variation(const double *values, int count);

/* Coefficient of variation of the last `window` values of a statistic, each of all samples up to
 * then. NAN when there are fewer than `window` samples. `room`: 2 * count. */
double pl_running_variation(const int64_t *ns, int count, int window, double *room,
                            double (*statistic)(const double *sorted, int count));

#endif
