/* How one clock reads another: a line about an origin. Pure arithmetic.
 *
 * Clocks are int64 nanoseconds and may stand at 10^18; the slope is a double near zero (the
 * relative difference of two frequencies, 10^-6 … 10^-4). Only the distance from the origin is
 * multiplied by it, so results are exact to the nanosecond for months around the origin. */
#ifndef PL_MODEL_H
#define PL_MODEL_H

#include <stdint.h>

/* other = own + offset_ns + slope * (own - origin_ns) */
struct pl_model {
    int64_t origin_ns, offset_ns;
    double slope;
};

#define PL_MODEL_IDENTITY ((struct pl_model){0, 0, 0.0})

int64_t pl_model_apply(const struct pl_model *model, int64_t own_ns);
/* The own time at which the other clock stands at `other_ns`, to the nanosecond. */
int64_t pl_model_invert(const struct pl_model *model, int64_t other_ns);
/* First `inner`, then `outer`: from a clock to a third one through the one between them. */
struct pl_model pl_model_merge(const struct pl_model *outer, const struct pl_model *inner);

#endif
