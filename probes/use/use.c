/* The table of ways of use, and what they say of the cases of a plan. */
#include "use/use.h"

#define PL_USE(name) extern const struct pl_use pl_use_##name;
#include "use/uses.def"
#undef PL_USE

const struct pl_use *const pl_uses[] = {
#define PL_USE(name) &pl_use_##name,
#include "use/uses.def"
#undef PL_USE
};
const int pl_use_count = sizeof pl_uses / sizeof *pl_uses;

struct pl_way pl_way_of(const struct pl_plan *plan, const struct pl_case *c)
{
    const struct pl_use *use = c->use ? c->use : plan->use;
    if (use) {
        const struct pl_sync *global = plan->sync->global_clock ? plan->sync : &pl_sync_window;
        return (struct pl_way){use->scheme ? use->scheme : global, use->span, use->stream};
    }
    bool global = plan->runtime == PL_RUNTIME_GLOBAL;
    return (struct pl_way){plan->sync, global ? PL_SPAN_FIRST_TO_LAST : PL_SPAN_LONGEST, false};
}

bool pl_case_is_global(const struct pl_plan *plan, const struct pl_case *c)
{
    struct pl_way way = pl_way_of(plan, c);
    return way.scheme->global_clock || pl_span_is_global(way.span);
}

bool pl_plan_is_global(const struct pl_plan *plan)
{
    for (int i = 0; i < plan->case_count; i++)
        if (pl_case_is_global(plan, &plan->cases[i]))
            return true;
    return plan->sync->global_clock || plan->runtime == PL_RUNTIME_GLOBAL;
}
