/* The keys of ways of use, and what only the whole plan can tell of them. */
#include "plan_parser.h"

#include "pattern/pattern.h"
#include "use/use.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST_NS = 1000000000 }; /* that a rank comes late by */

static bool take_use(struct pl_parser *parser, const char *value, const struct pl_use **use)
{
    *use = pl_use_by_name(value);
    return *use || pl_refuse(parser, "no such way of use; 'probe --list' names them (uses)");
}

bool pl_take_use(struct pl_parser *parser, const char *value)
{
    return take_use(parser, value, &parser->current->use);
}

bool pl_take_plan_use(struct pl_parser *parser, const char *value)
{
    return take_use(parser, value, &parser->plan->use);
}

static bool take_offset(struct pl_parser *parser, const char *text, int64_t *ns)
{
    uint64_t number;
    if (!pl_take_number(parser, text, 0, LONGEST_NS, &number))
        return false;
    *ns = (int64_t)number;
    return true;
}

/* "NS,NS,…" */
static bool take_list(struct pl_parser *parser, const char *text, struct pl_arrivals *arrivals)
{
    int room = 1;
    for (const char *c = text; *c; c++)
        room += *c == ',';
    arrivals->list = calloc((size_t)room, sizeof *arrivals->list);
    if (!arrivals->list)
        return pl_refuse(parser, "out of memory; write a shorter list");
    while (arrivals->count < room) {
        char number[24];
        size_t length = strcspn(text, ",");
        snprintf(number, sizeof number, "%.*s", (int)(length < 23 ? length : 23), text);
        int64_t *ns = &arrivals->list[arrivals->count++];
        if (!take_offset(parser, number, ns))
            return false;
        if (*ns > arrivals->ns)
            arrivals->ns = *ns;
        text += length + 1;
    }
    return true;
}

bool pl_take_arrival(struct pl_parser *parser, const char *value)
{
    static const char *const words[] = {"one:", "uniform:", "list:"};
    struct pl_arrivals *arrivals = &parser->plan->arrivals;
    arrivals->given = true;
    for (size_t kind = 0; kind < sizeof words / sizeof *words; kind++) {
        size_t length = strlen(words[kind]);
        if (strncmp(value, words[kind], length) != 0)
            continue;
        arrivals->kind = (enum pl_arrivals_kind)kind;
        return kind == PL_ARRIVALS_LIST ? take_list(parser, value + length, arrivals)
                                        : take_offset(parser, value + length, &arrivals->ns);
    }
    return pl_refuse(parser, "no such arrival pattern; write one:NS (one rank comes so many "
                             "nanoseconds late), uniform:NS (each by up to so many) or "
                             "list:NS,NS,… (a number a rank)");
}

/* A list has a number for each rank of each case that follows it. */
static bool list_fits(struct pl_parser *parser, const struct pl_case *c)
{
    const struct pl_arrivals *arrivals = &parser->plan->arrivals;
    int ranks = c->ranks ? c->ranks : parser->nprocs;
    if (arrivals->kind != PL_ARRIVALS_LIST || ranks == 0 || arrivals->count == ranks ||
        !pl_way_of(parser->plan, c).scheme->arrivals)
        return true;
    parser->error->line = parser->set_line;
    return pl_refuse_token(parser, "arrival", "list:…",
                           "it has %d numbers, and the case of line %d runs on %d ranks; write one "
                           "for each",
                           arrivals->count, c->line, ranks);
}

static const char no_times[] = "where calls have no time of their own a rank has none either; "
                               "leave out by_rank, or choose another use";

/* Why a case does not go with the way it is used, with plain loops or with the state of the caches;
 * NULL: it does. */
static const char *misfit(const struct pl_plan *plan, const struct pl_case *c)
{
    const bool streams = pl_way_of(plan, c).stream;
    if (c->by_rank && (streams || plan->plain || plan->cycle))
        return no_times;
    if (c->pattern && plan->plain)
        return "plain loops call collectives; leave out plain in the set line";
    if (c->pattern && plan->cache != PL_CACHE_WARM)
        return "patterns keep their buffers; write cache=warm in the set line";
    if (c->operation && c->operation->after && streams)
        return "what it makes is given back after each call, which a stream has no room for; "
               "choose another use";
    return NULL;
}

/* Why the plan as a whole does not go with this use; NULL: it does. */
static const char *unfit(const struct pl_plan *plan, const struct pl_use *use)
{
    if (plan->plain)
        return "plain loops measure all cases in one way; leave out use here or plain in the set "
               "line";
    if (use->stream && plan->nrep.count > 0 && !plan->nrep.in_blocks)
        return "its calls are timed as one, so a stopping rule has no samples to count; leave out "
               "use here or nrep in the set line, or give that blocks and reps";
    if (use->stream && plan->cache != PL_CACHE_WARM)
        return "nothing stands between its calls that could make caches cold; leave out use here, "
               "or write cache=warm in the set line";
    return NULL;
}

bool pl_finish_uses(struct pl_parser *parser)
{
    const struct pl_plan *plan = parser->plan;
    const char *whole = plan->use ? unfit(plan, plan->use) : NULL;
    if (whole) {
        parser->error->line = parser->set_line;
        return pl_refuse_token(parser, "use", plan->use->name, "%s", whole);
    }
    for (int i = 0; i < plan->case_count; i++) {
        const struct pl_case *c = &plan->cases[i];
        const char *why = c->use ? unfit(plan, c->use) : NULL;
        const char *other = misfit(plan, c);
        if (other) {
            parser->error->line = c->line;
            return other == no_times
                       ? pl_refuse_token(parser, "by_rank", "1", "%s", other)
                       : pl_refuse_token(parser, "function", c->pattern->name, "%s", other);
        }
        if (!why) {
            if (!list_fits(parser, c))
                return false;
            continue;
        }
        parser->error->line = c->line;
        return pl_refuse_token(parser, "use", c->use->name, "%s", why);
    }
    return true;
}
