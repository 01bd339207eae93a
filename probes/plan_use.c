/* The keys of ways of use, and what only the whole plan can tell of them. */
#include "plan_parser.h"

#include "use/use.h"

bool pl_take_use(struct pl_parser *parser, const char *value)
{
    parser->current->use = pl_use_by_name(value);
    return parser->current->use ||
           pl_refuse(parser, "no such way of use; 'probe --list' names them (uses)");
}

/* Why the plan as a whole does not go with this use; NULL: it does. */
static const char *unfit(const struct pl_plan *plan, const struct pl_use *use)
{
    if (plan->plain)
        return "plain loops measure all cases in one way; leave out use here or plain in the set "
               "line";
    if (use->stream && plan->nrep.count > 0)
        return "its calls are timed as one, so a stopping rule has no samples to look at; leave "
               "out use here or nrep in the set line";
    if (use->stream && plan->cache != PL_CACHE_WARM)
        return "nothing stands between its calls that could make caches cold; leave out use here "
               "or cache in the set line";
    return NULL;
}

bool pl_finish_uses(struct pl_parser *parser)
{
    const struct pl_plan *plan = parser->plan;
    for (int i = 0; i < plan->case_count; i++) {
        const struct pl_case *c = &plan->cases[i];
        const char *why = c->use ? unfit(plan, c->use) : NULL;
        if (!why)
            continue;
        parser->error->line = c->line;
        return pl_refuse_token(parser, "use", c->use->name, "%s", why);
    }
    return true;
}
