/* The keys of `set` lines, and the rules that need the whole plan. */
#include "plan_parser.h"

#include "measure/plain.h"
#include "pattern/pattern.h"
#include "simulated.h"
#include "use/use.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LATEST_NS = 1000000000 }; /* by which a rank comes late at most */

static bool take_nrep(struct pl_parser *parser, void *item, const char *value)
{
    struct pl_plan *plan = item;
    return pl_nrep_parse(&plan->nrep, value, parser->error->why, sizeof parser->error->why);
}

static bool take_offset(struct pl_parser *parser, const char *text, struct pl_arrivals *arrivals,
                        int64_t *ns)
{
    uint64_t number;
    if (!pl_take_number(parser, text, 0, LATEST_NS, &number))
        return false;
    *ns = (int64_t)number;
    arrivals->ns = *ns > arrivals->ns ? *ns : arrivals->ns;
    return true;
}

/* A state of the caches, or "cycle:BYTES". */
static bool take_cache(struct pl_parser *parser, void *item, const char *value)
{
    static const char area[] = "cycle:";
    const size_t start = sizeof area - 1;
    struct pl_plan *plan = item;
    const int mode = pl_names_find(PL_LIST_CACHES, value);
    if (strncmp(value, area, start) == 0) {
        plan->cache = PL_CACHE_CYCLE;
        return pl_take_number(parser, value + start, 1, PL_CACHE_MOST, &plan->cache_bytes);
    }
    plan->cache = (enum pl_cache_mode)mode;
    return mode >= 0 || pl_refuse(parser, "no such state of the caches; write warm, cycle, "
                                          "cycle:BYTES or overwrite");
}

/* "NS,NS,…" */
static bool take_offsets(struct pl_parser *parser, const char *text, struct pl_arrivals *arrivals)
{
    int room = 1;
    for (const char *c = text; *c; c++)
        room += *c == ',';
    arrivals->list = calloc((size_t)room, sizeof *arrivals->list);
    if (!arrivals->list)
        return pl_refuse(parser, "out of memory; write a shorter list");
    for (; arrivals->count < room; text += strcspn(text, ",") + 1) {
        char number[24];
        snprintf(number, sizeof number, "%.*s", (int)strcspn(text, ","), text);
        if (!take_offset(parser, number, arrivals, &arrivals->list[arrivals->count++]))
            return false;
    }
    return true;
}

static bool take_arrival(struct pl_parser *parser, void *item, const char *value)
{
    static const char *const words[] = {"one:", "uniform:", "list:"};
    struct pl_arrivals *arrivals = &((struct pl_plan *)item)->arrivals;
    for (int kind = PL_ARRIVALS_ONE; kind <= PL_ARRIVALS_LIST; kind++) {
        const char *text = value + strlen(words[kind]);
        if (strncmp(value, words[kind], strlen(words[kind])) != 0)
            continue;
        arrivals->kind = (enum pl_arrivals_kind)kind;
        return kind == PL_ARRIVALS_LIST ? take_offsets(parser, text, arrivals)
                                        : take_offset(parser, text, arrivals, &arrivals->ns);
    }
    return pl_refuse(parser, "no such arrival pattern; write one:NS (one rank comes so many "
                             "nanoseconds late), uniform:NS (each by up to so many) or "
                             "list:NS,NS,… (a number a rank)");
}

static const struct pl_key keys[] = {
    {PL_TEXT(struct pl_plan, "run", run, PL_NEEDED, NULL)},
    {PL_ENTRY(struct pl_plan, "sync", sync, PL_NEEDED, PL_LIST_SYNCS)},
    {PL_NUMBER(struct pl_plan, "seed", seed, PL_NEEDED, 0, UINT64_MAX)},
    {PL_NUMBER(struct pl_plan, "blocks", blocks, 0, 0, INT_MAX)},
    {PL_NUMBER(struct pl_plan, "warmup", warmup, PL_NEEDED, 0, INT_MAX)},
    {PL_NUMBER(struct pl_plan, "rewarm", rewarm, PL_NEEDED, 0, INT_MAX)},
    {PL_INDEX(struct pl_plan, "runtime", runtime, PL_NEEDED, PL_LIST_RUNTIMES)},
    {PL_NUMBER(struct pl_plan, "settle", settle, 0, 1, 100000)},
    {PL_NUMBER(struct pl_plan, "cycle", cycle, 0, 2, 1000)},
    {PL_ENTRY(struct pl_plan, "clock", clock, PL_NEEDED, PL_LIST_CLOCKS)},
    {PL_ENTRY(struct pl_plan, "clock_sync", clock_sync, PL_NEEDED, PL_LIST_CLOCK_SYNCS)},
    {PL_NUMBER(struct pl_plan, "clock_fit_ms", clock_fit_ms, PL_NEEDED, 1, 60000)},
    {PL_NUMBER(struct pl_plan, "clock_multiple", clock_multiple, PL_NEEDED, 1, 1000000)},
    {PL_NUMBER(struct pl_plan, "budget_ms", budget_ms, 0, 1, INT_MAX)},
    {.name = "cache", .value = PL_VALUE_TEXT, .flags = PL_NEEDED, .take = take_cache},
    {.name = "nrep", .value = PL_VALUE_TEXT, .take = take_nrep},
    {PL_NUMBER(struct pl_plan, "nrep_min", nrep.least, 0, 1, INT_MAX)},
    {PL_NUMBER(struct pl_plan, "nrep_step", nrep.step, 0, 1, INT_MAX)},
    {PL_NUMBER(struct pl_plan, "nrep_max", nrep.most, 0, 1, INT_MAX)},
    {PL_INDEX(struct pl_plan, "knobs", knobs, PL_NEEDED, PL_LIST_SWITCHES)},
    {PL_NUMBER(struct pl_plan, "window_us", window_us, PL_NEEDED, 0, 60000000)},
    {PL_ENTRY(struct pl_plan, "plain", plain, 0, PL_LIST_PLAIN)},
    {PL_TEXT(struct pl_plan, "arrival", arrivals.text, 0, take_arrival)},
    {PL_ENTRY(struct pl_plan, "use", use, 0, PL_LIST_USES)},
    {0},
};

_Static_assert(sizeof keys / sizeof *keys <= 33, "struct pl_parser has a bit for each key");

const struct pl_line_kind pl_line_set = {.word = "set", .keys = keys};

/* A stopping rule has either blocks or these bounds, in place of blocks and reps. */
static bool finish_rule(struct pl_parser *parser)
{
    static const char *const bounds[] = {"nrep_min", "nrep_step", "nrep_max"};
    struct pl_plan *plan = parser->plan;
    struct pl_nrep_rule *rule = &plan->nrep;
    const bool blocks = pl_given(parser, "blocks");
    const char *bound = NULL, *missing = NULL;
    int window = 0;
    for (int i = 0; i < 3; i++)
        *(pl_given(parser, bounds[i]) ? &bound : &missing) = bounds[i];
    for (int i = 0; i < rule->count; i++)
        window = rule->conditions[i].window > window ? rule->conditions[i].window : window;
    rule->in_blocks = rule->count > 0 && !bound;
    const struct pl_line_rule rules[] = {
        {bound && rule->count == 0, bound, "it bounds a stopping rule; add nrep=…"},
        {bound && blocks, "blocks",
         "nrep_min, nrep_step and nrep_max say how many samples there are; leave them out, or "
         "blocks"},
        {bound && !missing && rule->most < rule->least, "nrep_max",
         "it is below nrep_min; raise it"},
        {bound && !missing && rule->most < window, "nrep_max",
         "it is below the window of a criterion, which could never be met; raise it or choose a "
         "smaller window"},
    };
    if (!PL_OBEYS(parser, rules))
        return false;
    if (bound ? missing : blocks ? NULL : "blocks")
        return pl_refuse_missing(parser, bound ? missing : "blocks");
    for (int i = 0; i < plan->case_count; i++) {
        const struct pl_case *c = &plan->cases[i];
        pl_at(parser, &pl_line_case, c);
        if (!bound && c->reps == 0 && c->calls == 0)
            return pl_refuse_missing(parser, "reps");
        if (bound && c->reps > 0)
            return pl_refuse_key(parser, "reps",
                                 "a stopping rule decides how many samples there are; leave out "
                                 "reps here, or write blocks in place of nrep_min, nrep_step and "
                                 "nrep_max");
    }
    return true;
}

/* Why the plan as a whole does not go with this use; NULL: it does. */
static const char *unfit(const struct pl_plan *plan, const struct pl_use *use)
{
    if (use && plan->plain)
        return "plain loops measure all cases in one way; leave out use here or plain in the set "
               "line";
    if (use && use->stream && plan->nrep.count > 0 && !plan->nrep.in_blocks)
        return "its calls are timed as one, so a stopping rule has no samples to count; leave out "
               "use here or nrep in the set line, or give that blocks and reps";
    if (use && use->stream && plan->cache != PL_CACHE_WARM)
        return "nothing stands between its calls that could make caches cold; leave out use here, "
               "or write cache=warm in the set line";
    return NULL;
}

static bool finish_case(struct pl_parser *parser, const struct pl_case *c)
{
    const struct pl_plan *plan = parser->plan;
    const struct pl_arrivals *arrivals = &plan->arrivals;
    const struct pl_way way = pl_way_of(plan, c);
    const int ranks = c->ranks ? c->ranks : parser->nprocs;
    const char *why = unfit(plan, c->use);
    const struct pl_line_rule rules[] = {
        {plan->plain && c->ranks > 0, "ranks",
         "plain loops run on all ranks; leave out ranks here or plain in the set line"},
        {c->by_rank && (way.stream || plan->plain || plan->cycle), "by_rank",
         "where calls have no time of their own a rank has none either; leave out by_rank, or "
         "choose another use"},
        {c->pattern && plan->plain, "function",
         "plain loops call collectives; leave out plain in the set line"},
        {c->pattern && plan->cache != PL_CACHE_WARM, "function",
         "patterns keep their buffers; write cache=warm in the set line"},
        {c->operation && c->operation->after && way.stream, "function",
         "what it makes is given back after each call, which a stream has no room for; choose "
         "another use"},
        {why, "use", why},
        {plan->cycle > 0 && c->calls == 0 && c->reps != 1 && !way.stream, "reps",
         "a cycle is one sample; write reps=1, or leave out cycle in the set line"},
    };
    pl_at(parser, &pl_line_case, c);
    if (!PL_OBEYS(parser, rules))
        return false;
    pl_at(parser, &pl_line_set, plan);
    return arrivals->kind != PL_ARRIVALS_LIST || ranks == 0 || arrivals->count == ranks ||
           !way.scheme->arrivals ||
           pl_refuse_key(parser, "arrival",
                         "it has %d numbers, and the case of line %d runs on %d ranks; write one "
                         "for each",
                         arrivals->count, c->line, ranks);
}

/* Refuses settings that contradict each other or would change nothing. */
static bool finish_set(struct pl_parser *parser)
{
    const struct pl_plan *plan = parser->plan;
    pl_at(parser, &pl_line_set, plan);
    const bool barred =
        plan->plain && (plan->nrep.count > 0 || plan->cycle > 0 || plan->cache != PL_CACHE_WARM);
    const char *why = unfit(plan, plan->use), *missing = pl_clock_missing(plan->clock);
    bool windows = plan->sync->windows, late = plan->sync->arrivals, repeats = plan->sync->budget;
    bool knobs = false;
    for (int i = 0; i < plan->case_count; i++) {
        const struct pl_sync *scheme = pl_way_of(plan, &plan->cases[i]).scheme;
        windows |= scheme->windows;
        late |= scheme->arrivals;
        repeats |= scheme->budget;
    }
    for (int i = 0; i < plan->config_count; i++)
        knobs |= plan->configs[i].knob_count > 0;
    const struct pl_line_rule rules[] = {
        {missing, "clock", missing},
        {barred, "plain",
         "such programs know neither stopping rules nor cycles nor cold caches; leave out nrep "
         "and cycle and write cache=warm, or leave out plain"},
        {plan->plain && plan->runtime == PL_RUNTIME_GLOBAL, "runtime",
         "plain loops have the ranks' own times alone; leave out plain, or write local"},
        {why, "use", why},
        {plan->cycle > 0 && !PL_SIMULATED, "cycle",
         "a real machine does not repeat itself; leave it out, or see settle"},
        {plan->cycle > 0 && plan->nrep.count > 0, "cycle",
         "a stopping rule decides when a case ends; leave out cycle or nrep"},
        {plan->plain && plan->sync != pl_syncs[0], "sync",
         "plain loops have barriers of their own; leave out plain, or write sync=barrier"},
        {plan->window_us > 0 && !windows, "window_us",
         "no window is used here; write window_us=0, or choose sync=window or a case with "
         "use=synchronised"},
        {plan->budget_ms > 0 && !repeats && (plan->nrep.count == 0 || plan->nrep.in_blocks),
         "budget_ms",
         "nothing heeds a budget here; leave it out, or choose sync=window, sync=roundtime, a case "
         "with use=synchronised or a stopping rule (nrep)"},
        {plan->arrivals.text && !late, "arrival",
         "no case has use=late; leave it out, or add such a case"},
        {plan->settle > 0 && (plan->settle <= plan->warmup || plan->plain), "settle",
         "so many calls are made anyway; leave it out, or write more than warmup"},
        {plan->knobs != PL_SWITCH_COMMUNICATOR && !knobs, "knobs",
         "no config has knobs; write communicator, or add them to a config"},
    };
    if (!PL_OBEYS(parser, rules))
        return false;
    return !repeats || plan->budget_ms > 0 || pl_refuse_missing(parser, "budget_ms");
}

bool pl_finish_plan(struct pl_parser *parser)
{
    struct pl_plan *plan = parser->plan;
    const struct pl_nrep_rule *rule = &plan->nrep;
    if (!finish_rule(parser) || !finish_set(parser))
        return false;
    for (int i = 0; i < plan->case_count; i++)
        if (!finish_case(parser, &plan->cases[i]))
            return false;
    if (rule->count > 0 && !rule->in_blocks) {
        const int64_t after_first = rule->most - rule->least;
        plan->blocks = 1 + (int)((after_first + rule->step - 1) / rule->step);
        for (int i = 0; i < plan->case_count; i++)
            plan->cases[i].reps = plan->cases[i].calls ? 0 : rule->most;
    }
    return true;
}
