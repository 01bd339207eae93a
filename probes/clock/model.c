#include "clock/model.h"

#include <math.h>

int64_t pl_model_apply(const struct pl_model *model, int64_t own_ns)
{
    return own_ns + model->offset_ns + llround(model->slope * (double)(own_ns - model->origin_ns));
}

/* With d = own - origin: other = origin + offset + (1 + slope) d. */
int64_t pl_model_invert(const struct pl_model *model, int64_t other_ns)
{
    int64_t stretched = other_ns - model->offset_ns - model->origin_ns;
    double excess = model->slope / (1 + model->slope) * (double)stretched;
    return model->origin_ns + stretched - llround(excess);
}

/* The origin is that of a model which has a slope: near it the product with the slope is exact. */
struct pl_model pl_model_merge(const struct pl_model *outer, const struct pl_model *inner)
{
    int64_t origin =
        outer->slope == 0 ? inner->origin_ns : pl_model_invert(inner, outer->origin_ns);
    return (struct pl_model){
        .origin_ns = origin,
        .offset_ns = pl_model_apply(outer, pl_model_apply(inner, origin)) - origin,
        .slope = inner->slope + outer->slope + inner->slope * outer->slope,
    };
}
