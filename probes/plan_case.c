/* The keys of `case` lines, and the rules that need the whole line. */
#include "plan_parser.h"

#include "measure/forms.h"
#include "measure/replay.h"
#include "measure/shape.h"
#include "measure/types.h"
#include "pattern/pattern.h"

#include <limits.h>
#include <string.h>

static bool take_function(struct pl_parser *parser, void *item, const char *value)
{
    struct pl_case *c = item;
    c->form = pl_form_by_name(value);
    c->function = c->form ? c->form->function : pl_function_by_name(value);
    c->pattern = pl_named(PL_LIST_PATTERNS, value);
    if (pl_has_neighbors(c->function))
        return pl_refuse(parser, "measured as an operation of the pattern 'neighbourhood' alone");
    return pl_is_measured(c->function) || c->pattern ||
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

/* The rules of the line look whether an operation is of the pattern, and a blocking function of the
 * form. */
static bool take_variant(struct pl_parser *parser, void *item, const char *value)
{
    struct pl_case *c = item;
    char why[200];
    if (is_operation(value))
        return true;
    c->empty = strcmp(value, "empty") == 0;
    if (c->empty)
        c->run = call_nothing;
    else if (strcmp(value, "default") == 0 || pl_form_by_blocking(value))
        c->run = pl_call_mpi;
    else if (strcmp(value, "library") == 0)
        c->run = pl_call_next;
    else if (strncmp(value, REPLAY, strlen(REPLAY)) == 0) {
        const char *id = value + strlen(REPLAY);
        c->run = pl_replay_run;
        c->messages = pl_messages_by_id(parser->plan, id);
        return c->messages ||
               pl_refuse(parser, "no such messages; put lines 'messages id=%.64s …' above", id);
    } else if (pl_spec_parse(value, &c->spec, why, sizeof why)) {
        c->variant = c->spec.variant;
        c->run = c->variant->run;
    } else
        return pl_refuse(parser, "%s (or write 'default', 'library', 'empty', '" REPLAY "…')", why);
    return true;
}

static bool take_config(struct pl_parser *parser, void *item, const char *value)
{
    struct pl_case *c = item;
    for (c->config = 0; c->config < parser->plan->config_count; c->config++)
        if (strcmp(parser->plan->configs[c->config].id, value) == 0)
            return true;
    return pl_refuse(parser, "no such config; put a line 'config id=%.64s …' above", value);
}

static const struct pl_key keys[] = {
    {PL_NUMBER(struct pl_case, "id", id, PL_NEEDED, 0, INT_MAX)},
    {PL_TEXT(struct pl_case, "function", function_name, PL_NEEDED, take_function)},
    {PL_TEXT(struct pl_case, "variant", variant_name, PL_NEEDED, take_variant)},
    {PL_TEXT(struct pl_case, "config", config_name, PL_NEEDED, take_config)},
    {PL_NUMBER(struct pl_case, "bytes", bytes, PL_NEEDED, 0, LLONG_MAX / 2)},
    {PL_INDEX(struct pl_case, "type", type, PL_NEEDED, PL_LIST_TYPES)},
    {PL_INDEX(struct pl_case, "op", op, PL_NEEDED, PL_LIST_OPS)},
    {PL_NUMBER(struct pl_case, "root", root, PL_NEEDED, 0, INT_MAX)},
    {PL_NUMBER(struct pl_case, "ranks", ranks, 0, 1, INT_MAX)},
    {PL_NUMBER(struct pl_case, "reps", reps, 0, 1, INT_MAX)},
    {PL_NUMBER(struct pl_case, "delay_ns", delay_ns, 0, 0, 1000000000)},
    {PL_NUMBER(struct pl_case, "calls", calls, 0, 1, INT_MAX)},
    {PL_NUMBER(struct pl_case, "least", least, 0, 0, LLONG_MAX / 2)},
    {PL_NUMBER(struct pl_case, "mean", mean, 0, 0, LLONG_MAX / 2)},
    {PL_INDEX(struct pl_case, "counts", counts, PL_NEEDED | PL_QUIET_IF_ZERO, PL_LIST_COUNTS)},
    {PL_ENTRY(struct pl_case, "use", use, PL_QUIET_IF_ZERO, PL_LIST_USES)},
    {PL_NUMBER(struct pl_case, "by_rank", by_rank, PL_QUIET_IF_ZERO, 0, 1)},
    {0},
};

/* A trial is never timed; all other cases are. */
static bool finish_trial(struct pl_parser *parser, const struct pl_case *c)
{
    const bool least = pl_given(parser, "least");
    const bool mean = pl_given(parser, "mean");
    const bool timed = c->reps > 0 || c->delay_ns > 0 || c->use || c->empty || c->by_rank ||
                       c->pattern || c->messages || c->counts != PL_COUNTS_EQUAL;
    const struct pl_line_rule rules[] = {
        {!c->calls && (least || mean), least ? "least" : "mean", "it is of a trial; add calls=…"},
        {c->calls && (!least || !mean), "calls", "add least=… and mean=…"},
        {c->calls && c->least > c->bytes, "least", "it is above bytes; write a smaller number"},
        {c->calls && (c->mean < c->least || c->mean > c->bytes), "mean",
         "it is not between least and bytes"},
        {c->calls && timed, "calls",
         "a trial is only checked, and of a function; leave out reps, delay_ns, use, counts, "
         "by_rank and variant=empty or replay, or calls"},
    };
    return PL_OBEYS(parser, rules);
}

/* A pattern and an operation belong together, and no other case has an operation. */
static bool finish_pattern(struct pl_parser *parser, struct pl_case *c)
{
    if (!c->pattern)
        return c->run || pl_refuse_key(parser, "variant",
                                       "it is an operation of a pattern, not a variant of %s",
                                       pl_function_name(c->function));
    if (c->empty)
        return true;
    c->operation = pl_operation_of(c->pattern, c->variant_name);
    if (!c->operation)
        return pl_refuse_key(parser, "variant",
                             "no operation of %s; 'probe --list' names them (patterns)",
                             c->pattern->name);
    c->run = c->operation->run;
    const int ranks = c->ranks ? c->ranks : parser->nprocs;
    if (ranks > 0 && ranks < c->pattern->least_ranks)
        return pl_refuse_key(parser, "function", "it takes %d ranks; start more, or raise ranks",
                             c->pattern->least_ranks);
    return c->operation->landing != PL_LANDS_SLOTS || c->bytes > 0 ||
           pl_refuse_key(parser, "bytes",
                         "a message without data ends a worker's part; write 1 or more");
}

/* A form has two ways: its own, and its blocking function. The preload library leaves it alone, so
 * that `library` is `default`. Other functions have the variants that compute them. */
static bool finish_variant(struct pl_parser *parser, struct pl_case *c)
{
    const char *name = c->variant_name;
    const struct pl_form *form = pl_form_by_blocking(name);
    if (form && form != c->form)
        return pl_refuse_key(parser, "variant", "it is of %s", form->name);
    if (c->form && !form && !c->empty) {
        if (strcmp(name, "default") != 0 && strcmp(name, "library") != 0)
            return pl_refuse_key(parser, "variant", "%s has default, library, empty and %s",
                                 c->form->name, c->form->blocking);
        c->run = c->form->run;
    }
    return !c->variant || c->variant->function == c->function ||
           pl_refuse_key(parser, "variant",
                         "it computes %s, not %s; 'probe --list' says which variants fit",
                         pl_function_name(c->variant->function), pl_function_name(c->function));
}

static bool finish_ranks(struct pl_parser *parser, const struct pl_case *c)
{
    const int most = parser->nprocs, ranks = c->ranks ? c->ranks : most;
    if (most > 0 && c->ranks > most)
        return pl_refuse_key(parser, "ranks",
                             "there are %d ranks; write a number from 1 to %d, or leave it out",
                             most, most);
    if (ranks > 0 && c->root >= ranks)
        return pl_refuse_key(parser, "root",
                             c->ranks ? "ranks=%d leaves out this rank; write a root from 0 to %d"
                                      : "there are %d ranks; write a root from 0 to %d",
                             ranks, ranks - 1);
    return !c->messages || ranks == 0 || c->messages->ranks <= ranks ||
           pl_refuse_key(parser, "variant", "its messages are of %d ranks, and the case has %d",
                         c->messages->ranks, ranks);
}

static bool finish_case(struct pl_parser *parser, void *item)
{
    struct pl_case *c = item;
    const struct pl_type *type = &pl_types[c->type];
    const int ranks = c->ranks ? c->ranks : parser->nprocs;
    if (!finish_trial(parser, c) || !finish_pattern(parser, c) || !finish_variant(parser, c) ||
        !finish_ranks(parser, c))
        return false;
    if (pl_function_reduces(c->function) && !pl_op_defined(c->op, c->type))
        return pl_refuse_key(parser, "op",
                             "MPI does not define %s on %s; choose another op or type",
                             pl_ops[c->op].name, type->name);
    if (c->counts != PL_COUNTS_EQUAL && (c->pattern || !pl_function_has_counts(c->function)))
        return pl_refuse_key(parser, "counts", "%s has the same count for all ranks; write equal",
                             c->function_name);
    if (c->messages && type->size != 1)
        return pl_refuse_key(parser, "type", "messages are played as bytes; write MPI_BYTE");
    const struct pl_shares shares = {ranks ? ranks : 1, c->counts};
    return (c->pattern ? pl_pattern_fits(c, ranks)
                       : pl_shape_fits(c->function, c->bytes, type->size, shares)) ||
           pl_refuse_key(parser, "bytes", "more than %d elements of %s; write a smaller number",
                         INT_MAX, type->name);
}

const struct pl_line_kind pl_line_case = {
    .word = "case",
    .keys = keys,
    PL_ITEMS(cases, case_count, struct pl_case),
    .unique = true,
    .finish = finish_case,
};
