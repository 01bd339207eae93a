/* Rules that overlap, found without comparing each with each. Rules that lie apart in one thing
 * they say go into different groups, group after group and thing after thing; only what nothing
 * tells apart is compared. */
#include "profile.h"

#include <stdlib.h>

enum { FUNCTION, NPROCS, NODES, PPN, BYTES, OPS, TYPES, THINGS };
enum { DEEPEST = 64 }; /* groups in groups, so that no profile takes more than so many sorts */

/* A rule with what it says of one thing. */
struct item {
    struct pl_interval range;
    const struct pl_rule *rule;
};

/* The first rule that overlaps with one before it, and that one. */
struct pair {
    const struct pl_rule *first, *second;
};

/* Kinds as numbers; a set of them is at most what lies between its least and its largest. */
static struct pl_interval around(unsigned kinds)
{
    return (struct pl_interval){__builtin_ctz(kinds), 31 - __builtin_clz(kinds)};
}

static struct pl_interval range_of(const struct pl_rule *rule, int thing)
{
    switch (thing) {
    case NPROCS:
        return rule->nprocs;
    case NODES:
        return rule->nodes;
    case PPN:
        return rule->ppn;
    case BYTES:
        return rule->bytes;
    case OPS:
        return around(rule->ops);
    case TYPES:
        return around(rule->types);
    default:
        return (struct pl_interval){rule->function, rule->function};
    }
}

static int by_from(const void *left, const void *right)
{
    const long long one = ((const struct item *)left)->range.from;
    const long long other = ((const struct item *)right)->range.from;
    return (one > other) - (one < other);
}

static int by_line(const void *left, const void *right)
{
    const struct item *one = left, *other = right;
    return one->rule->line - other->rule->line;
}

static void compare(struct item *items, int count, struct pair *found)
{
    qsort(items, (size_t)count, sizeof *items, by_line);
    for (int j = 1; j < count; j++) {
        const struct pl_rule *rule = items[j].rule;
        if (found->second && rule->line >= found->second->line)
            return;
        for (int i = 0; i < j; i++)
            if (pl_rules_overlap(items[i].rule, rule)) {
                *found = (struct pair){items[i].rule, rule};
                return;
            }
    }
}

/* `vain`: how many things in a row have told none of these apart. */
static void divide(struct item *items, int count, int thing, int vain, int depth,
                   struct pair *found)
{
    if (count < 2)
        return;
    if (vain == THINGS || depth == DEEPEST) {
        compare(items, count, found);
        return;
    }
    for (int i = 0; i < count; i++)
        items[i].range = range_of(items[i].rule, thing);
    qsort(items, (size_t)count, sizeof *items, by_from);
    for (int begin = 0, end; begin < count; begin = end) {
        long long to = items[begin].range.to;
        for (end = begin + 1; end < count && items[end].range.from <= to; end++)
            to = items[end].range.to > to ? items[end].range.to : to;
        divide(items + begin, end - begin, (thing + 1) % THINGS,
               end - begin == count ? vain + 1 : 0, depth + 1, found);
    }
}

bool pl_rules_apart(const struct pl_profile *profile, struct pl_profile_error *error)
{
    struct pair found = {NULL, NULL};
    struct item *items = calloc((size_t)profile->count + 1, sizeof *items);
    if (!items)
        return pl_profile_fail(error, "", "out of memory");
    for (int i = 0; i < profile->count; i++)
        items[i].rule = &profile->rules[i];
    divide(items, profile->count, FUNCTION, 0, 0, &found);
    free(items);
    if (!found.second)
        return true;
    error->line = found.second->line;
    return pl_profile_fail(error, "", "overlaps with the rule on line %d", found.first->line);
}
