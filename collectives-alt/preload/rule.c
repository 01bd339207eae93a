/* One rule of a profile: which calls it is for, and what it puts in their place; numbers and errors
 * of all lines. */
#include "classes.h"
#include "profile.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char pl_blanks[] = " \t";

bool pl_profile_fail(struct pl_profile_error *error, const char *token, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(error->what, sizeof error->what, format, args);
    va_end(args);
    snprintf(error->token, sizeof error->token, "%s", token);
    return false;
}

const char *pl_parse_number(const char *text, long long most, long long *value)
{
    const char *at = text;
    *value = 0;
    for (; *at >= '0' && *at <= '9'; at++) {
        const int digit = *at - '0';
        if (*value > (most - digit) / 10)
            return NULL;
        *value = *value * 10 + digit;
    }
    return at == text ? NULL : at;
}

/* "a-b" or "a-inf", least <= a <= b <= most. */
static bool parse_range(const char *value, long long least, long long most,
                        struct pl_interval *range)
{
    const char *at = pl_parse_number(value, most, &range->from);
    if (!at || *at != '-')
        return false;
    at++;
    if (strcmp(at, "inf") == 0) {
        range->to = most;
        return range->from >= least;
    }
    at = pl_parse_number(at, most, &range->to);
    return at && *at == '\0' && range->from >= least && range->from <= range->to;
}

static bool parse_processes(const char *value, const char *token, struct pl_interval *range,
                            struct pl_profile_error *error)
{
    return parse_range(value, 1, INT_MAX, range) ||
           pl_profile_fail(error, token, "not a range a-b or a-inf with 1 <= a <= b");
}

static bool parse_function(const char *value, const char *token, struct pl_rule *rule,
                           struct pl_profile_error *error)
{
    rule->function = pl_function_by_name(value);
    if (rule->function == PL_FUNCTION_COUNT)
        return pl_profile_fail(error, token, "unknown function");
    if (rule->function == PL_FN_reduce_local)
        return pl_profile_fail(error, token, "is never replaced");
    return true;
}

static bool parse_variant(const char *value, const char *token, struct pl_rule *rule,
                          struct pl_profile_error *error)
{
    char why[160];
    if (strcmp(value, pl_canary.name) == 0)
        rule->spec = pl_spec_of(&pl_canary);
    else if (!pl_spec_parse(value, &rule->spec, why, sizeof why))
        return pl_profile_fail(error, token, "%s", why);
    return true;
}

enum key {
    FUNCTION,
    NPROCS,
    BYTES,
    VARIANT,
    MANDATORY,
    NODES = MANDATORY,
    PPN,
    OP,
    TYPE,
    COUNTS,
    KEYS
};

static const char *const keys[KEYS] = {
    [FUNCTION] = "function", [NPROCS] = "nprocs", [BYTES] = "bytes", [VARIANT] = "variant",
    [NODES] = "nodes",       [PPN] = "ppn",       [OP] = "op",       [TYPE] = "type",
    [COUNTS] = "counts",
};

static bool parse_value(enum key key, const char *value, const char *token, struct pl_rule *rule,
                        struct pl_profile_error *error)
{
    switch (key) {
    case FUNCTION:
        return parse_function(value, token, rule, error);
    case NPROCS:
        return parse_processes(value, token, &rule->nprocs, error);
    case NODES:
        return parse_processes(value, token, &rule->nodes, error);
    case PPN:
        return parse_processes(value, token, &rule->ppn, error);
    case BYTES:
        return parse_range(value, 0, LLONG_MAX, &rule->bytes) ||
               pl_profile_fail(error, token, "not a range a-b or a-inf with 0 <= a <= b");
    case OP:
        return pl_op_classes(value, &rule->ops) ||
               pl_profile_fail(error, token, "not a class of operations; docs/profile.md has them");
    case TYPE:
        return pl_type_classes(value, &rule->types) ||
               pl_profile_fail(error, token, "not a class of datatypes; docs/profile.md has them");
    case COUNTS:
        rule->equal_counts = strcmp(value, "equal") == 0;
        return rule->equal_counts || strcmp(value, "any") == 0 ||
               pl_profile_fail(error, token, "not counts=equal or counts=any");
    default:
        return parse_variant(value, token, rule, error);
    }
}

/* All ranks know the counts of all. */
static bool knows_counts(enum pl_function function)
{
    return function == PL_FN_allgatherv || function == PL_FN_reduce_scatter;
}

static bool check(const struct pl_rule *rule, const bool seen[KEYS], struct pl_profile_error *error)
{
    const struct pl_variant *variant = rule->spec.variant;
    const char *name = pl_function_name(rule->function);
    for (int k = 0; k < MANDATORY; k++)
        if (!seen[k])
            return pl_profile_fail(error, "", "this rule has no %s=", keys[k]);
    if (variant != &pl_canary && variant->function != rule->function)
        return pl_profile_fail(error, variant->name, "is a variant of %s, not of %s",
                               pl_function_name(variant->function), name);
    if ((seen[OP] || seen[TYPE]) && !pl_reduces(rule->function))
        return pl_profile_fail(error, seen[OP] ? "op=" : "type=",
                               "is for reductions; ranks of %s may pass different ones", name);
    if (seen[COUNTS] && !knows_counts(rule->function))
        return pl_profile_fail(error, "counts=",
                               "is for MPI_Allgatherv and MPI_Reduce_scatter; not all ranks of %s "
                               "know the counts, or they are equal",
                               name);
    if (pl_has_volume(rule->function))
        return true;
    if (rule->bytes.from != 0 || rule->bytes.to != LLONG_MAX)
        return pl_profile_fail(
            error, "bytes=", "must be 0-inf: not all ranks know the volume of %s", name);
    if (variant != &pl_canary && !pl_deployable(variant))
        return pl_profile_fail(error, variant->name,
                               "needs memory in volumes, and not all ranks know that of %s", name);
    return true;
}

bool pl_rule_parse(char *rest, struct pl_rule *rule, struct pl_profile_error *error)
{
    bool seen[KEYS] = {false};
    char *save = NULL;
    rule->nodes = rule->ppn = (struct pl_interval){1, INT_MAX};
    rule->ops = rule->types = PL_ANY_CLASS;
    for (char *token = strtok_r(rest, pl_blanks, &save); token;
         token = strtok_r(NULL, pl_blanks, &save)) {
        char key[16];
        const size_t length = strcspn(token, "=");
        int k = 0;
        snprintf(key, sizeof key, "%.*s", length < sizeof key ? (int)length : 0, token);
        while (k < KEYS && strcmp(keys[k], key) != 0)
            k++;
        if (token[length] != '=' || k == KEYS)
            return pl_profile_fail(error, token,
                                   "not one of function=, nprocs=, nodes=, ppn=, bytes=, op=, "
                                   "type=, counts=, variant=");
        if (seen[k])
            return pl_profile_fail(error, token, "%s= stands twice in this rule", key);
        seen[k] = true;
        if (!parse_value((enum key)k, token + length + 1, token, rule, error))
            return false;
    }
    rule->by_nodes = seen[NODES] || seen[PPN];
    return check(rule, seen, error);
}

static bool meet(struct pl_interval one, struct pl_interval other)
{
    return one.from <= other.to && other.from <= one.to;
}

bool pl_rules_overlap(const struct pl_rule *one, const struct pl_rule *other)
{
    return one->function == other->function && meet(one->nprocs, other->nprocs) &&
           meet(one->nodes, other->nodes) && meet(one->ppn, other->ppn) &&
           meet(one->bytes, other->bytes) && (one->ops & other->ops) && (one->types & other->types);
}
