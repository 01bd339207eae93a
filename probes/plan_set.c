/* The keys of `set` lines: a key is one function and one line of a table. What only the whole plan
 * can tell stands at the end. */
#include "plan_parser.h"

#include "measure/cache.h"
#include "measure/plain.h"
#include "simulated.h"
#include "use/use.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

static bool take_run(struct pl_parser *parser, const char *value)
{
    parser->plan->run = value;
    return true;
}

static bool take_cycle(struct pl_parser *parser, const char *value)
{
    if (!PL_SIMULATED)
        return pl_refuse(parser, "a real machine does not repeat itself; leave it out, or see "
                                 "settle");
    return pl_take_int(parser, value, 2, 1000, &parser->plan->cycle);
}

static bool take_sync(struct pl_parser *parser, const char *value)
{
    parser->plan->sync = pl_sync_by_name(value);
    return parser->plan->sync ||
           pl_refuse(parser, "no such start scheme; 'probe --list' names them (syncs)");
}

static bool take_clock(struct pl_parser *parser, const char *value)
{
    parser->plan->clock = pl_clock_by_name(value);
    if (!parser->plan->clock)
        return pl_refuse(parser, "no such timer; 'probe --list' names them (clocks)");
    const char *missing = pl_clock_missing(parser->plan->clock);
    return !missing || pl_refuse(parser, "%s", missing);
}

static bool take_clock_sync(struct pl_parser *parser, const char *value)
{
    parser->plan->clock_sync = pl_clock_sync_by_name(value);
    return parser->plan->clock_sync ||
           pl_refuse(parser, "no such clock synchronisation; 'probe --list' names them "
                             "(clock_syncs)");
}

static bool take_runtime(struct pl_parser *parser, const char *value)
{
    bool global = strcmp(value, "global") == 0;
    parser->plan->runtime = global ? PL_RUNTIME_GLOBAL : PL_RUNTIME_LOCAL;
    return global || strcmp(value, "local") == 0 ||
           pl_refuse(parser, "no such run time; write local (the largest of the ranks' own times) "
                             "or global (first start to last end on the global clock)");
}

static bool take_knobs(struct pl_parser *parser, const char *value)
{
    static const char *const names[] = {"communicator", "call", "start"};
    static const enum pl_switch ways[] = {PL_SWITCH_COMMUNICATOR, PL_SWITCH_CALL, PL_SWITCH_START};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(value, names[i]) == 0) {
            parser->plan->knobs = ways[i];
            return true;
        }
    return pl_refuse(parser, "no such way to switch knobs; write communicator (it keeps the values "
                             "it was made under), call (each call reads them) or start (the launch "
                             "was started with them)");
}

static bool take_window_us(struct pl_parser *parser, const char *value)
{
    int window_us = 0;
    if (!pl_take_int(parser, value, 0, 60000000, &window_us))
        return false;
    parser->plan->window_ns = window_us * INT64_C(1000);
    return true;
}

static bool take_cache(struct pl_parser *parser, const char *value)
{
    static const char area[] = "cycle:";
    const size_t start = sizeof area - 1;
    if (strncmp(value, area, start) == 0) {
        parser->plan->cache = PL_CACHE_CYCLE;
        return pl_take_number(parser, value + start, 1, PL_CACHE_MOST, &parser->plan->cache_bytes);
    }
    return pl_cache_mode_by_name(value, &parser->plan->cache) ||
           pl_refuse(parser, "no such state of the caches; write warm, cycle, cycle:BYTES or "
                             "overwrite");
}

static bool take_nrep(struct pl_parser *parser, const char *value)
{
    return pl_nrep_parse(&parser->plan->nrep, value, parser->error->why, sizeof parser->error->why);
}

static bool take_plain(struct pl_parser *parser, const char *value)
{
    parser->plan->plain = pl_plain_by_name(value);
    return parser->plan->plain ||
           pl_refuse(parser, "no such loop; 'probe --list' names them (plain)");
}

const struct pl_key pl_set_keys[] = {
    {.name = "run", .take = take_run, .required = true},
    {PL_NUMBER("seed", struct pl_plan, seed, 0, UINT64_MAX), .required = true},
    {PL_NUMBER("blocks", struct pl_plan, blocks, 0, INT_MAX)},
    {PL_NUMBER("warmup", struct pl_plan, warmup, 0, INT_MAX), .required = true},
    {PL_NUMBER("rewarm", struct pl_plan, rewarm, 0, INT_MAX), .required = true},
    {PL_NUMBER("settle", struct pl_plan, settle, 1, 100000)},
    {.name = "cycle", .take = take_cycle},
    {.name = "sync", .take = take_sync, .required = true},
    {.name = "clock", .take = take_clock, .required = true},
    {PL_NUMBER("budget_ms", struct pl_plan, budget_ms, 1, INT_MAX)},
    {.name = "cache", .take = take_cache, .required = true},
    {.name = "nrep", .take = take_nrep},
    {PL_NUMBER("nrep_min", struct pl_plan, nrep.least, 1, INT_MAX)},
    {PL_NUMBER("nrep_step", struct pl_plan, nrep.step, 1, INT_MAX)},
    {PL_NUMBER("nrep_max", struct pl_plan, nrep.most, 1, INT_MAX)},
    {.name = "clock_sync", .take = take_clock_sync, .required = true},
    {PL_NUMBER("clock_fit_ms", struct pl_plan, clock_fit_ms, 1, 60000), .required = true},
    {PL_NUMBER("clock_multiple", struct pl_plan, clock_multiple, 1, 1000000), .required = true},
    {.name = "runtime", .take = take_runtime, .required = true},
    {.name = "knobs", .take = take_knobs, .required = true},
    {.name = "window_us", .take = take_window_us, .required = true},
    {.name = "plain", .take = take_plain},
    {.name = "arrival", .take = pl_take_arrival},
    {.name = "use", .take = pl_take_plan_use},
};
const int pl_set_key_count = sizeof pl_set_keys / sizeof *pl_set_keys;

_Static_assert(sizeof pl_set_keys / sizeof *pl_set_keys <= PL_MOST_KEYS, "raise PL_MOST_KEYS");

/* The value that the set line has for a key; NULL: it does not have the key. */
static const char *given(const struct pl_parser *parser, const char *key)
{
    for (int i = 0; i < pl_set_key_count; i++)
        if (strcmp(pl_set_keys[i].name, key) == 0)
            return parser->given[i];
    return NULL;
}

static bool refuse_number(struct pl_parser *parser, int line, const char *key, int value,
                          const char *why)
{
    char number[16];
    parser->error->line = line;
    snprintf(number, sizeof number, "%d", value);
    return pl_refuse_token(parser, key, number, "%s", why);
}

static bool refuse_missing(struct pl_parser *parser, int line, const char *word, const char *key)
{
    parser->error->line = line;
    snprintf(parser->error->token, sizeof parser->error->token, "%s", word);
    return pl_refuse(parser, "key '%s' is missing; add %s=…", key, key);
}

/* Blocks, each with the reps of the cases; a rule beside them ends cases between two blocks. */
static bool finish_blocks(struct pl_parser *parser)
{
    const struct pl_plan *plan = parser->plan;
    if (!given(parser, "blocks"))
        return refuse_missing(parser, parser->set_line, "set", "blocks");
    for (int i = 0; i < plan->case_count; i++)
        if (plan->cases[i].reps == 0 && plan->cases[i].calls == 0)
            return refuse_missing(parser, plan->cases[i].line, "case", "reps");
    return true;
}

/* A rule with bounds stands in place of blocks and reps. */
static bool finish_rule(struct pl_parser *parser)
{
    static const char *const bounds[] = {"nrep_min", "nrep_step", "nrep_max"};
    struct pl_nrep_rule *rule = &parser->plan->nrep;
    const char *bound = NULL, *missing = NULL;
    for (int i = 0; i < 3; i++)
        *(given(parser, bounds[i]) ? &bound : &missing) = bounds[i];
    if (rule->count == 0 && bound) {
        parser->error->line = parser->set_line;
        return pl_refuse_token(parser, bound, "…", "it bounds a stopping rule; add nrep=…");
    }
    rule->in_blocks = rule->count > 0 && !bound;
    if (!bound)
        return finish_blocks(parser);
    if (given(parser, "blocks"))
        return refuse_number(parser, parser->set_line, "blocks", parser->plan->blocks,
                             "nrep_min, nrep_step and nrep_max say how many samples there are; "
                             "leave them out, or blocks");
    if (missing)
        return refuse_missing(parser, parser->set_line, "set", missing);
    if (parser->reps_line > 0)
        return refuse_number(parser, parser->reps_line, "reps", parser->reps,
                             "a stopping rule decides how many samples there are; leave out reps "
                             "here, or write blocks in place of nrep_min, nrep_step and nrep_max");
    if (rule->most < rule->least)
        return refuse_number(parser, parser->set_line, "nrep_max", rule->most,
                             "it is below nrep_min; raise it");
    for (int i = 0; i < rule->count; i++)
        if (rule->conditions[i].window > rule->most)
            return refuse_number(parser, parser->set_line, "nrep_max", rule->most,
                                 "it is below the window of a criterion, which could never be met; "
                                 "raise it or choose a smaller window");
    return true;
}

/* A cycle is one sample, and decides itself how many repetitions it is made of. */
static bool finish_cycle(struct pl_parser *parser)
{
    const struct pl_plan *plan = parser->plan;
    if (plan->cycle == 0)
        return true;
    if (plan->nrep.count > 0) {
        parser->error->line = parser->set_line;
        return pl_refuse_token(parser, "cycle", given(parser, "cycle"),
                               "a stopping rule decides when a case ends; leave out cycle or nrep");
    }
    for (int i = 0; i < plan->case_count; i++)
        if (plan->cases[i].calls == 0 && plan->cases[i].reps != 1 &&
            !pl_way_of(plan, &plan->cases[i]).stream)
            return refuse_number(parser, plan->cases[i].line, "reps", plan->cases[i].reps,
                                 "a cycle is one sample; write reps=1, or leave out cycle in the "
                                 "set line");
    return true;
}

static bool any_knobs(const struct pl_plan *plan)
{
    for (int i = 0; i < plan->config_count; i++)
        if (plan->configs[i].knob_count > 0)
            return true;
    return false;
}

static bool windows(const struct pl_sync *scheme)
{
    return scheme->windows;
}

static bool arrivals(const struct pl_sync *scheme)
{
    return scheme->arrivals;
}

static bool budget(const struct pl_sync *scheme)
{
    return scheme->budget;
}

/* The plan's own start scheme is one of those, or that of a case. */
static bool any_start(const struct pl_plan *plan, bool (*is)(const struct pl_sync *scheme))
{
    bool found = is(plan->sync);
    for (int i = 0; i < plan->case_count && !found; i++)
        found = is(pl_way_of(plan, &plan->cases[i]).scheme);
    return found;
}

/* Settings that would change nothing. */
static bool finish_idle(struct pl_parser *parser)
{
    const struct pl_plan *plan = parser->plan;
    const bool repeats = any_start(plan, budget);
    if (repeats && !given(parser, "budget_ms"))
        return refuse_missing(parser, parser->set_line, "set", "budget_ms");
    const struct {
        const char *key;
        bool idle;
        const char *why;
    } rules[] = {
        {"sync", plan->plain && plan->sync != pl_syncs[0],
         "plain loops have barriers of their own; leave out plain, or write sync=barrier"},
        {"window_us", plan->window_ns > 0 && !any_start(plan, windows),
         "no window is used here; write window_us=0, or choose sync=window or a case with "
         "use=synchronised"},
        {"budget_ms", !repeats && (plan->nrep.count == 0 || plan->nrep.in_blocks),
         "nothing heeds a budget here; leave it out, or choose sync=window, sync=roundtime, a "
         "case with use=synchronised or a stopping rule (nrep)"},
        {"arrival", !any_start(plan, arrivals),
         "no case has use=late; leave it out, or add such a case"},
        {"settle", plan->settle <= plan->warmup || plan->plain,
         "so many calls are made anyway; leave it out, or write more than warmup"},
        {"knobs", plan->knobs != PL_SWITCH_COMMUNICATOR && !any_knobs(plan),
         "no config has knobs; write communicator, or add them to a config"},
    };
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        const char *value = given(parser, rules[i].key);
        if (!value || !rules[i].idle)
            continue;
        parser->error->line = parser->set_line;
        return pl_refuse_token(parser, rules[i].key, value, "%s", rules[i].why);
    }
    return true;
}

bool pl_finish_plan(struct pl_parser *parser)
{
    struct pl_plan *plan = parser->plan;
    if (!finish_rule(parser))
        return false;
    if (plan->plain && (plan->nrep.count > 0 || plan->cycle || plan->cache != PL_CACHE_WARM)) {
        parser->error->line = parser->set_line;
        return pl_refuse_token(parser, "plain", plan->plain->name,
                               "such programs know neither stopping rules nor cycles nor cold "
                               "caches; leave out nrep and cycle and write cache=warm, or leave "
                               "out plain");
    }
    for (int i = 0; plan->plain && i < plan->case_count; i++)
        if (plan->cases[i].ranks > 0)
            return refuse_number(parser, plan->cases[i].line, "ranks", plan->cases[i].ranks,
                                 "plain loops run on all ranks; leave out ranks here or plain in "
                                 "the set line");
    if (plan->plain && plan->runtime == PL_RUNTIME_GLOBAL) {
        parser->error->line = parser->set_line;
        return pl_refuse_token(parser, "runtime", "global",
                               "plain loops have the ranks' own times alone; leave out plain, or "
                               "write local");
    }
    if (!pl_finish_uses(parser) || !finish_cycle(parser) || !finish_idle(parser))
        return false;
    if (plan->nrep.count > 0 && !plan->nrep.in_blocks) {
        int64_t after_first = plan->nrep.most - plan->nrep.least;
        plan->blocks = 1 + (int)((after_first + plan->nrep.step - 1) / plan->nrep.step);
        for (int i = 0; i < plan->case_count; i++)
            plan->cases[i].reps = plan->cases[i].calls ? 0 : plan->nrep.most;
    }
    return true;
}
