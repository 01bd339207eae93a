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
 * A point whose bound exceeds the smallest bound by e was delayed by 2 e on its two ways together,
 * so its offset is off by e at most, beside what is common to all points (the wedge of Mills,
 * Computer Network Time Synchronization, 2nd ed., 2011, section 3.5). Hence the weights
 * 1/(e + e0)², e0 the lower quartile of the e; then least squares, and Tukey's bisquare (c = 4.685,
 * scale by the median absolute residual) against what still does not lie on the line (Beaton and
 * Tukey, Technometrics 16, 1974; Holland and Welsch, Communications in Statistics A6, 1977).
 *
 * A slope that is noise makes an error that grows with time, so the line is flat, at the weighted
 * mean, unless both say otherwise: the confidence interval of weighted regression, n - 2 degrees of
 * freedom (Draper and Smith, Applied Regression Analysis, 3rd ed., 1998, sections 1.4 and 9.2), and
 * the wedges: no flat line passes within e of every point. The interval alone takes disturbances
 * that come in phases for drift. Fewer than 5 points are never enough for a slope. */
struct pl_fit {
    struct pl_model model;
    double slope_error;
};

struct pl_fit pl_fit_line(const struct pl_offset *points, int count);

#endif
