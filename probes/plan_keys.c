/* The keys of `set` and `case` lines. A key is one function and one line of a table. */
#include "plan_parser.h"

#include "measure/cache.h"
#include "measure/plain.h"
#include "measure/shape.h"
#include "measure/types.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

/* Decimal digits only: no sign, no blank, no other base. */
static bool number(struct pl_parser *parser, const char *text, uint64_t least, uint64_t most,
                   uint64_t *value)
{
    uint64_t result = 0;
    bool good = *text != '\0';
    for (const char *c = text; good && *c; c++) {
        unsigned digit = (unsigned)(*c - '0');
        good = digit <= 9 && result <= (UINT64_MAX - digit) / 10;
        if (good)
            result = result * 10 + digit;
    }
    if (!good || result < least || result > most)
        return pl_refuse(parser, "write a whole number from %llu to %llu",
                         (unsigned long long)least, (unsigned long long)most);
    *value = result;
    return true;
}

static bool small_number(struct pl_parser *parser, const char *text, int least, int *value)
{
    uint64_t result;
    if (!number(parser, text, (uint64_t)least, INT_MAX, &result))
        return false;
    *value = (int)result;
    return true;
}

static bool limited_number(struct pl_parser *parser, const char *text, int least, int most,
                           int *value)
{
    uint64_t result;
    if (!number(parser, text, (uint64_t)least, (uint64_t)most, &result))
        return false;
    *value = (int)result;
    return true;
}

static bool take_run(struct pl_parser *parser, const char *value)
{
    parser->plan->run = value;
    return true;
}

static bool take_seed(struct pl_parser *parser, const char *value)
{
    return number(parser, value, 0, UINT64_MAX, &parser->plan->seed);
}

static bool take_blocks(struct pl_parser *parser, const char *value)
{
    parser->blocks_given = true;
    return small_number(parser, value, 0, &parser->plan->blocks);
}

static bool take_warmup(struct pl_parser *parser, const char *value)
{
    return small_number(parser, value, 0, &parser->plan->warmup);
}

static bool take_rewarm(struct pl_parser *parser, const char *value)
{
    return small_number(parser, value, 0, &parser->plan->rewarm);
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

static bool take_clock_fit_ms(struct pl_parser *parser, const char *value)
{
    return limited_number(parser, value, 1, 60000, &parser->plan->clock_fit_ms);
}

static bool take_clock_multiple(struct pl_parser *parser, const char *value)
{
    return limited_number(parser, value, 1, 1000000, &parser->plan->clock_multiple);
}

static bool take_runtime(struct pl_parser *parser, const char *value)
{
    bool global = strcmp(value, "global") == 0;
    parser->plan->runtime = global ? PL_RUNTIME_GLOBAL : PL_RUNTIME_LOCAL;
    return global || strcmp(value, "local") == 0 ||
           pl_refuse(parser, "no such run time; write local (the largest of the ranks' own times) "
                             "or global (first start to last end on the global clock)");
}

static bool take_window_us(struct pl_parser *parser, const char *value)
{
    int window_us = 0;
    if (!limited_number(parser, value, 0, 60000000, &window_us))
        return false;
    parser->plan->window_ns = window_us * INT64_C(1000);
    return true;
}

static bool take_budget_ms(struct pl_parser *parser, const char *value)
{
    uint64_t budget;
    if (!number(parser, value, 1, INT_MAX, &budget))
        return false;
    parser->plan->budget_ms = (int64_t)budget;
    return true;
}

static bool take_cache(struct pl_parser *parser, const char *value)
{
    return pl_cache_mode_by_name(value, &parser->plan->cache) ||
           pl_refuse(parser, "no such state of the caches; write warm, cycle or overwrite");
}

static bool take_nrep(struct pl_parser *parser, const char *value)
{
    return pl_nrep_parse(&parser->plan->nrep, value, parser->error->why, sizeof parser->error->why);
}

static bool take_nrep_min(struct pl_parser *parser, const char *value)
{
    parser->nrep_min_given = true;
    return small_number(parser, value, 1, &parser->plan->nrep.least);
}

static bool take_nrep_step(struct pl_parser *parser, const char *value)
{
    parser->nrep_step_given = true;
    return small_number(parser, value, 1, &parser->plan->nrep.step);
}

static bool take_nrep_max(struct pl_parser *parser, const char *value)
{
    parser->nrep_max_given = true;
    return small_number(parser, value, 1, &parser->plan->nrep.most);
}

static bool take_plain(struct pl_parser *parser, const char *value)
{
    parser->plan->plain = pl_plain_by_name(value);
    return parser->plan->plain ||
           pl_refuse(parser, "no such loop; 'probe --list' names them (plain)");
}

const struct pl_key pl_set_keys[] = {
    {"run", take_run, false},
    {"seed", take_seed, false},
    {"blocks", take_blocks, false},
    {"warmup", take_warmup, false},
    {"rewarm", take_rewarm, false},
    {"sync", take_sync, false},
    {"clock", take_clock, false},
    {"budget_ms", take_budget_ms, false},
    {"cache", take_cache, false},
    {"nrep", take_nrep, false},
    {"nrep_min", take_nrep_min, false},
    {"nrep_step", take_nrep_step, false},
    {"nrep_max", take_nrep_max, false},
    {"clock_sync", take_clock_sync, false},
    {"clock_fit_ms", take_clock_fit_ms, false},
    {"clock_multiple", take_clock_multiple, false},
    {"runtime", take_runtime, false},
    {"window_us", take_window_us, false},
    {"plain", take_plain, false},
};
const int pl_set_key_count = sizeof pl_set_keys / sizeof *pl_set_keys;

static bool take_id(struct pl_parser *parser, const char *value)
{
    return small_number(parser, value, 0, &parser->current->id);
}

static bool take_function(struct pl_parser *parser, const char *value)
{
    parser->current->function = pl_function_by_name(value);
    return parser->current->function != PL_FUNCTION_COUNT ||
           pl_refuse(parser, "no such function; 'probe --list' names them (functions)");
}

static int call_nothing(const struct pl_call *call)
{
    (void)call;
    return MPI_SUCCESS;
}

static bool take_variant(struct pl_parser *parser, const char *value)
{
    struct pl_case *c = parser->current;
    c->variant_name = value;
    if (strcmp(value, "default") == 0)
        c->run = pl_call_mpi;
    else if (strcmp(value, "library") == 0)
        c->run = pl_call_pmpi;
    else if (strcmp(value, "empty") == 0) {
        c->empty = true;
        c->run = call_nothing;
    } else if ((c->variant = pl_variant_by_name(value)))
        c->run = c->variant->run;
    else
        return pl_refuse(parser, "no such variant; write 'default', 'library', 'empty' or a name "
                                 "that 'probe --list' gives (variants)");
    return true;
}

static bool take_config(struct pl_parser *parser, const char *value)
{
    for (int i = 0; i < parser->plan->config_count; i++)
        if (strcmp(parser->plan->configs[i].id, value) == 0) {
            parser->current->config = i;
            return true;
        }
    return pl_refuse(parser, "no such config; put a line 'config id=%.64s …' above", value);
}

static bool take_bytes(struct pl_parser *parser, const char *value)
{
    uint64_t bytes;
    if (!number(parser, value, 0, LLONG_MAX / 2, &bytes))
        return false;
    parser->current->bytes = (long long)bytes;
    return true;
}

static bool take_type(struct pl_parser *parser, const char *value)
{
    parser->type_name = value;
    parser->current->type = pl_type_by_name(value);
    return parser->current->type >= 0 ||
           pl_refuse(parser, "no such datatype; 'probe --list' names them (types)");
}

static bool take_op(struct pl_parser *parser, const char *value)
{
    parser->op_name = value;
    parser->current->op = pl_op_by_name(value);
    return parser->current->op >= 0 ||
           pl_refuse(parser, "no such operation; 'probe --list' names them (ops)");
}

static bool take_root(struct pl_parser *parser, const char *value)
{
    if (!small_number(parser, value, 0, &parser->current->root))
        return false;
    return parser->nprocs == 0 || parser->current->root < parser->nprocs ||
           pl_refuse(parser, "there are %d ranks; write a root from 0 to %d", parser->nprocs,
                     parser->nprocs - 1);
}

static bool take_reps(struct pl_parser *parser, const char *value)
{
    if (!small_number(parser, value, 1, &parser->current->reps))
        return false;
    if (parser->reps_line == 0) {
        parser->reps_line = parser->error->line;
        parser->reps = parser->current->reps;
    }
    return true;
}

static bool take_delay(struct pl_parser *parser, const char *value)
{
    uint64_t ns;
    if (!number(parser, value, 0, 1000000000, &ns))
        return false;
    parser->current->delay_ns = (int64_t)ns;
    return true;
}

const struct pl_key pl_case_keys[] = {
    {"id", take_id, true},
    {"function", take_function, true},
    {"variant", take_variant, false},
    {"config", take_config, false},
    {"bytes", take_bytes, true},
    {"type", take_type, false},
    {"op", take_op, false},
    {"root", take_root, false},
    {"reps", take_reps, false},
    {"delay_ns", take_delay, false},
};
const int pl_case_key_count = sizeof pl_case_keys / sizeof *pl_case_keys;

bool pl_finish_case(struct pl_parser *parser)
{
    const struct pl_case *c = parser->current;
    const char *type = pl_types[c->type].name, *op = pl_ops[c->op].name;

    if (c->variant && c->variant->function != c->function)
        return pl_refuse_token(parser, "variant", c->variant_name,
                               "it computes %s, not %s; 'probe --list' says which variants fit",
                               pl_function_name(c->variant->function),
                               pl_function_name(c->function));
    if (pl_function_reduces(c->function) && !pl_op_defined(c->op, c->type)) {
        if (parser->op_name || !parser->type_name)
            return pl_refuse_token(parser, "op", op,
                                   "MPI does not define %s on %s; choose another op or type", op,
                                   type);
        return pl_refuse_token(parser, "type", type,
                               "MPI does not define the default op %s on %s; add an op=", op, type);
    }
    if (!pl_shape_fits(c->function, c->bytes, pl_types[c->type].size,
                       parser->nprocs ? parser->nprocs : 1)) {
        char bytes[32];
        snprintf(bytes, sizeof bytes, "%lld", c->bytes);
        return pl_refuse_token(parser, "bytes", bytes,
                               "more than %d elements of %s; write a smaller number", INT_MAX,
                               type);
    }
    return true;
}

static bool take_round_trip_bytes(struct pl_parser *parser, const char *value)
{
    return small_number(parser, value, 0,
                        &parser->plan->pingpongs[parser->plan->pingpong_count - 1].bytes);
}

static bool take_round_trips(struct pl_parser *parser, const char *value)
{
    return small_number(parser, value, 1,
                        &parser->plan->pingpongs[parser->plan->pingpong_count - 1].reps);
}

const struct pl_key pl_pingpong_keys[] = {
    {"bytes", take_round_trip_bytes, true},
    {"reps", take_round_trips, false},
};
const int pl_pingpong_key_count = sizeof pl_pingpong_keys / sizeof *pl_pingpong_keys;

bool pl_finish_pingpong(struct pl_parser *parser)
{
    const struct pl_pingpong *all = parser->plan->pingpongs;
    int last = parser->plan->pingpong_count - 1;
    for (int i = 0; i < last; i++)
        if (all[i].bytes == all[last].bytes) {
            char bytes[16];
            snprintf(bytes, sizeof bytes, "%d", all[last].bytes);
            return pl_refuse_token(parser, "bytes", bytes, "line %d has the same size; leave one",
                                   all[i].line);
        }
    return true;
}

static bool refuse_number(struct pl_parser *parser, int line, const char *key, int value,
                          const char *why)
{
    char number[16];
    parser->error->line = line;
    snprintf(number, sizeof number, "%d", value);
    return pl_refuse_token(parser, key, number, "%s", why);
}

/* A rule and its bounds stand on one line, and in place of blocks and reps. */
static bool finish_rule(struct pl_parser *parser)
{
    const struct pl_nrep_rule *rule = &parser->plan->nrep;
    const char *lonely = parser->nrep_min_given    ? "nrep_min"
                         : parser->nrep_step_given ? "nrep_step"
                         : parser->nrep_max_given  ? "nrep_max"
                                                   : NULL;
    if (rule->count == 0) {
        if (!lonely)
            return true;
        parser->error->line = parser->set_line;
        return pl_refuse_token(parser, lonely, "…", "it bounds a stopping rule; add nrep=…");
    }
    if (parser->blocks_given)
        return refuse_number(parser, parser->set_line, "blocks", parser->plan->blocks,
                             "a stopping rule decides how many blocks there are; leave out blocks "
                             "or nrep");
    if (parser->reps_line > 0)
        return refuse_number(parser, parser->reps_line, "reps", parser->reps,
                             "a stopping rule decides how many samples there are; leave out reps "
                             "here or nrep in the set line");
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

bool pl_finish_plan(struct pl_parser *parser)
{
    struct pl_plan *plan = parser->plan;
    if (!finish_rule(parser))
        return false;
    if (plan->plain && (plan->nrep.count > 0 || plan->cache != PL_CACHE_WARM)) {
        parser->error->line = parser->set_line;
        return pl_refuse_token(parser, "plain", plan->plain->name,
                               "such programs know neither stopping rules nor cold caches; leave "
                               "out nrep and cache, or plain");
    }
    if (plan->plain && plan->runtime == PL_RUNTIME_GLOBAL) {
        parser->error->line = parser->set_line;
        return pl_refuse_token(parser, "runtime", "global",
                               "plain loops have the ranks' own times alone; leave out plain or "
                               "runtime");
    }
    if (plan->nrep.count > 0) {
        int64_t after_first = plan->nrep.most - plan->nrep.least;
        plan->blocks = 1 + (int)((after_first + plan->nrep.step - 1) / plan->nrep.step);
        for (int i = 0; i < plan->case_count; i++)
            plan->cases[i].reps = plan->nrep.most;
    }
    return true;
}
