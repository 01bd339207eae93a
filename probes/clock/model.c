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

struct pl_model pl_model_merge(const struct pl_model *outer, const struct pl_model *inner)
{
    int64_t between = pl_model_apply(inner, inner->origin_ns);
    return (struct pl_model){
        .origin_ns = inner->origin_ns,
        .offset_ns = pl_model_apply(outer, between) - inner->origin_ns,
        .slope = inner->slope + outer->slope + inner->slope * outer->slope,
    };
}
