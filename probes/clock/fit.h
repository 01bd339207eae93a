/* A line through measured offsets. Pure. */
#ifndef PL_FIT_H
#define PL_FIT_H

#include "clock/model.h"

/* Another clock minus one's own. */
struct pl_offset {
    int64_t at_ns;     /* own time */
    int64_t offset_ns; /* if both ways took equally long */
    int64_t bound_ns;  /* it is not further from the truth than this, however unequal they were */
};

/* The line, and the half-width of the confidence interval of its slope (99.9 %).
 *
 * Weighted least squares, weights 1/bound²; then Tukey's bisquare (c = 4.685, scale by the median
 * absolute residual) keeps off what does not lie on the line (Beaton and Tukey, Technometrics 16,
 * 1974; Holland and Welsch, Communications in Statistics A6, 1977). The interval is that of
 * ordinary weighted regression with n - 2 degrees of freedom (Draper and Smith, Applied Regression
 * Analysis, 3rd ed., 1998, sections 1.4 and 9.2).
 *
 * A slope that the interval does not tell from zero is noise that would grow with time: the line is
 * then flat, at the weighted mean. Fewer than 5 points are never enough for a slope. */
struct pl_fit {
    struct pl_model model;
    double slope_error;
};

struct pl_fit pl_fit_line(const struct pl_offset *points, int count);

#endif
