/* The keys of `case` and `pingpong` lines: a key is one function and one line of a table. */
#include "plan_parser.h"

#include "measure/forms.h"
#include "measure/replay.h"
#include "measure/shape.h"
#include "measure/types.h"
#include "pattern/pattern.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

static bool take_function(struct pl_parser *parser, const char *value)
{
    parser->current->function = pl_function_by_name(value);
    parser->current->form = pl_form_by_name(value);
    if (parser->current->form)
        parser->current->function = parser->current->form->function;
    parser->current->pattern = pl_pattern_by_name(value);
    if (pl_has_neighbors(parser->current->function))
        return pl_refuse(parser, "measured as an operation of the pattern 'neighbourhood' alone");
    return pl_is_measured(parser->current->function) || parser->current->pattern ||
           pl_refuse(parser, "no such function; 'probe --list' names them (functions, patterns)");
}

static int call_nothing(const struct pl_call *call)
{
    (void)call;
    return MPI_SUCCESS;
}

static bool is_operation(const char *name)
{
    for (int i = 0; i < pl_operation_count; i++)
        if (strcmp(pl_operations[i]->name, name) == 0)
            return true;
    return false;
}

#define REPLAY "replay:messages="

static bool take_replay(struct pl_parser *parser, const char *id)
{
    struct pl_case *c = parser->current;
    c->messages = pl_messages_by_id(parser->plan, id);
    c->run = pl_replay_run;
    return c->messages ||
           pl_refuse(parser, "no such messages; put lines 'messages id=%.64s …' above", id);
}

static bool take_variant(struct pl_parser *parser, const char *value)
{
    struct pl_case *c = parser->current;
    char why[200];
    c->variant_name = value;
    if (is_operation(value)) /* finish_pattern looks whether it is of the pattern */
        c->run = NULL;
    else if (strcmp(value, "default") == 0)
        c->run = pl_call_mpi;
    else if (strcmp(value, "library") == 0)
        c->run = pl_call_next;
    else if (strcmp(value, "empty") == 0) {
        c->empty = true;
        c->run = call_nothing;
    } else if (pl_form_by_blocking(value)) { /* finish_form looks whether it is of the form */
        c->run = pl_call_mpi;
    } else if (strncmp(value, REPLAY, strlen(REPLAY)) == 0) {
        return take_replay(parser, value + strlen(REPLAY));
    } else if (pl_spec_parse(value, &c->spec, why, sizeof why)) {
        c->variant = c->spec.variant;
        c->run = c->variant->run;
    } else
        return pl_refuse(parser, "%s (or write 'default', 'library', 'empty', '" REPLAY "…')", why);
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

static bool take_type(struct pl_parser *parser, const char *value)
{
    parser->current->type = pl_type_by_name(value);
    return parser->current->type >= 0 ||
           pl_refuse(parser, "no such datatype; 'probe --list' names them (types)");
}

static bool take_op(struct pl_parser *parser, const char *value)
{
    parser->current->op = pl_op_by_name(value);
    return parser->current->op >= 0 ||
           pl_refuse(parser, "no such operation; 'probe --list' names them (ops)");
}

static bool take_counts(struct pl_parser *parser, const char *value)
{
    parser->current->counts = pl_counts_by_name(value);
    return parser->current->counts != PL_COUNTS ||
           pl_refuse(parser, "no such shape; 'probe --list' names them (counts)");
}

static bool take_root(struct pl_parser *parser, const char *value)
{
    if (!pl_take_count(parser, value, 0, &parser->current->root))
        return false;
    return parser->nprocs == 0 || parser->current->root < parser->nprocs ||
           pl_refuse(parser, "there are %d ranks; write a root from 0 to %d", parser->nprocs,
                     parser->nprocs - 1);
}

static bool take_ranks(struct pl_parser *parser, const char *value)
{
    if (!pl_take_count(parser, value, 1, &parser->current->ranks))
        return false;
    return parser->nprocs == 0 || parser->current->ranks <= parser->nprocs ||
           pl_refuse(parser, "there are %d ranks; write a number from 1 to %d, or leave it out",
                     parser->nprocs, parser->nprocs);
}

static bool take_reps(struct pl_parser *parser, const char *value)
{
    if (!pl_take_count(parser, value, 1, &parser->current->reps))
        return false;
    if (parser->reps_line == 0) {
        parser->reps_line = parser->error->line;
        parser->reps = parser->current->reps;
    }
    return true;
}

const struct pl_key pl_case_keys[] = {
    {PL_NUMBER("id", struct pl_case, id, 0, INT_MAX), .required = true},
    {.name = "function", .take = take_function, .required = true},
    {.name = "variant", .take = take_variant, .required = true},
    {.name = "config", .take = take_config, .required = true},
    {PL_NUMBER("bytes", struct pl_case, bytes, 0, LLONG_MAX / 2), .required = true},
    {.name = "type", .take = take_type, .required = true},
    {.name = "op", .take = take_op, .required = true},
    {.name = "root", .take = take_root, .required = true},
    {.name = "counts", .take = take_counts, .required = true},
    {.name = "ranks", .take = take_ranks},
    {.name = "reps", .take = take_reps},
    {PL_NUMBER("calls", struct pl_case, calls, 1, INT_MAX)},
    {PL_NUMBER("least", struct pl_case, least, 0, LLONG_MAX / 2)},
    {PL_NUMBER("mean", struct pl_case, mean, 0, LLONG_MAX / 2)},
    {PL_NUMBER("delay_ns", struct pl_case, delay_ns, 0, 1000000000)},
    {.name = "use", .take = pl_take_use},
    {PL_NUMBER("by_rank", struct pl_case, by_rank, 0, 1)},
};
const int pl_case_key_count = sizeof pl_case_keys / sizeof *pl_case_keys;

/* A trial is never timed; all other cases are. */
static bool finish_trial(struct pl_parser *parser)
{
    struct pl_case *c = parser->current;
    if (c->calls == 0) {
        return (c->least < 0 && c->mean < 0) ||
               pl_refuse_token(parser, c->least < 0 ? "mean" : "least", "…",
                               "it is of a trial; add calls=…");
    }
    if (c->least < 0 || c->mean < 0)
        return pl_refuse_token(parser, "calls", "…", "add least=… and mean=…");
    if (c->least > c->bytes)
        return pl_refuse_token(parser, "least", "…", "it is above bytes; write a smaller number");
    if (c->mean < c->least || c->mean > c->bytes)
        return pl_refuse_token(parser, "mean", "…", "it is not between least and bytes");
    if (c->reps > 0 || c->delay_ns > 0 || c->use || c->empty || c->by_rank || c->pattern ||
        c->messages || c->counts != PL_COUNTS_EQUAL)
        return pl_refuse_token(parser, "calls", "…",
                               "a trial is only checked, and of a function; leave out reps, "
                               "delay_ns, use, counts, by_rank and variant=empty or replay, or "
                               "calls");
    return true;
}

/* A pattern and an operation belong together, and no other case has an operation. */
static bool finish_pattern(struct pl_parser *parser)
{
    struct pl_case *c = parser->current;
    if (!c->pattern)
        return c->run || pl_refuse_token(parser, "variant", c->variant_name,
                                         "it is an operation of a pattern, not a variant of %s",
                                         pl_function_name(c->function));
    if (c->empty)
        return true;
    c->operation = pl_operation_of(c->pattern, c->variant_name);
    if (!c->operation)
        return pl_refuse_token(parser, "variant", c->variant_name,
                               "no operation of %s; 'probe --list' names them (patterns)",
                               c->pattern->name);
    c->run = c->operation->run;
    const int ranks = c->ranks ? c->ranks : parser->nprocs;
    if (ranks > 0 && ranks < c->pattern->least_ranks)
        return pl_refuse_token(parser, "function", c->pattern->name,
                               "it takes %d ranks; start more, or raise ranks",
                               c->pattern->least_ranks);
    if (c->operation->landing == PL_LANDS_SLOTS && c->bytes == 0)
        return pl_refuse_token(parser, "bytes", "0",
                               "a message without data ends a worker's part; write 1 or more");
    return true;
}

/* A form has two ways: its own, and its blocking function. The preload library leaves it alone, so
 * that `library` is `default`. */
static bool finish_form(struct pl_parser *parser)
{
    struct pl_case *c = parser->current;
    const char *name = c->variant_name;
    const struct pl_form *of = pl_form_by_blocking(name);
    if (of != c->form && of)
        return pl_refuse_token(parser, "variant", name, "it is of %s", of->name);
    if (!c->form || of || c->empty)
        return true;
    if (strcmp(name, "default") != 0 && strcmp(name, "library") != 0)
        return pl_refuse_token(parser, "variant", name, "%s has default, library, empty and %s",
                               c->form->name, c->form->blocking);
    c->run = c->form->run;
    return true;
}

bool pl_finish_case(struct pl_parser *parser)
{
    const struct pl_case *c = parser->current;
    const char *type = pl_types[c->type].name, *op = pl_ops[c->op].name;

    if (!finish_trial(parser) || !finish_pattern(parser) || !finish_form(parser))
        return false;

    if (c->variant && c->variant->function != c->function)
        return pl_refuse_token(parser, "variant", c->variant_name,
                               "it computes %s, not %s; 'probe --list' says which variants fit",
                               pl_function_name(c->variant->function),
                               pl_function_name(c->function));
    if (pl_function_reduces(c->function) && !pl_op_defined(c->op, c->type))
        return pl_refuse_token(parser, "op", op,
                               "MPI does not define %s on %s; choose another op or type", op, type);
    if (c->counts != PL_COUNTS_EQUAL && (c->pattern || !pl_function_has_counts(c->function)))
        return pl_refuse_token(parser, "counts", pl_counts_names[c->counts],
                               "%s has the same count for all ranks; write equal",
                               pl_case_function(c));
    if (c->ranks > 0 && c->root >= c->ranks) {
        char root[16];
        snprintf(root, sizeof root, "%d", c->root);
        return pl_refuse_token(parser, "root", root,
                               "ranks=%d leaves out this rank; write a root from 0 to %d", c->ranks,
                               c->ranks - 1);
    }
    int ranks = c->ranks ? c->ranks : parser->nprocs;
    if (c->messages && pl_types[c->type].size != 1)
        return pl_refuse_token(parser, "type", type,
                               "messages are played as bytes; write MPI_BYTE");
    if (c->messages && ranks > 0 && c->messages->ranks > ranks)
        return pl_refuse_token(parser, "variant", c->variant_name,
                               "its messages are of %d ranks, and the case has %d",
                               c->messages->ranks, ranks);
    const bool fits = c->pattern ? pl_pattern_fits(c, ranks)
                                 : pl_shape_fits(c->function, c->bytes, pl_types[c->type].size,
                                                 (struct pl_shares){ranks ? ranks : 1, c->counts});
    if (!fits) {
        char bytes[32];
        snprintf(bytes, sizeof bytes, "%lld", c->bytes);
        return pl_refuse_token(parser, "bytes", bytes,
                               "more than %d elements of %s; write a smaller number", INT_MAX,
                               type);
    }
    return true;
}

const struct pl_key pl_pingpong_keys[] = {
    {PL_NUMBER("bytes", struct pl_pingpong, bytes, 0, INT_MAX), .required = true},
    {PL_NUMBER("reps", struct pl_pingpong, reps, 1, INT_MAX), .required = true},
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
