/* The table of criteria, and rules made of them. */
#include "nrep/nrep.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PL_CRITERION(name) extern const struct pl_criterion pl_criterion_##name;
#include "nrep/criteria.def"
#undef PL_CRITERION

const struct pl_criterion *const pl_criteria[] = {
#define PL_CRITERION(name) &pl_criterion_##name,
#include "nrep/criteria.def"
#undef PL_CRITERION
};
const int pl_criterion_count = sizeof pl_criteria / sizeof *pl_criteria;

_Static_assert(sizeof pl_criteria / sizeof *pl_criteria <= PL_NREP_CONDITIONS, "one of each");

static bool refuse(char *why, size_t size, const char *text)
{
    snprintf(why, size, "%s", text);
    return false;
}

static bool refuse_name(char *why, size_t size)
{
    size_t used = (size_t)snprintf(why, size,
                                   "write criterion:threshold with commas between; "
                                   "there are");
    for (int i = 0; i < pl_criterion_count && used < size; i++)
        used += (size_t)snprintf(why + used, size - used, " %s", pl_criteria[i]->name);
    return false;
}

/* A plain decimal number: no sign, no blank, no hexadecimal, no infinity. */
static bool decimal(const char *text, double *value)
{
    char *end;
    if (!isdigit((unsigned char)*text) || strspn(text, "0123456789.eE+-") != strlen(text))
        return false;
    *value = strtod(text, &end);
    return *end == '\0' && isfinite(*value) && *value > 0;
}

static bool parse_condition(struct pl_nrep_rule *rule, char *text, char *why, size_t size)
{
    char *threshold = strchr(text, ':');
    if (!threshold)
        return refuse_name(why, size);
    *threshold++ = '\0';
    char *window = strchr(threshold, '/');
    if (window)
        *window++ = '\0';
    struct pl_nrep_condition condition = {0};
    for (int i = 0; i < pl_criterion_count; i++)
        if (strcmp(pl_criteria[i]->name, text) == 0)
            condition.criterion = pl_criteria[i];
    if (!condition.criterion)
        return refuse_name(why, size);
    for (int i = 0; i < rule->count; i++)
        if (rule->conditions[i].criterion == condition.criterion)
            return refuse(why, size, "a criterion stands twice; leave one");
    if (!decimal(threshold, &condition.threshold))
        return refuse(why, size, "a threshold is a number above 0, like 0.01");
    condition.window = condition.criterion->window;
    if (window) {
        double number;
        if (!condition.window)
            return refuse(why, size, "only cov_mean and cov_median have a window; leave out /…");
        if (strspn(window, "0123456789") != strlen(window) || !decimal(window, &number) ||
            number < 2 || number > 1000000)
            return refuse(why, size, "a window is a whole number from 2 to 1000000");
        condition.window = (int)number;
    }
    rule->conditions[rule->count++] = condition;
    return true;
}

bool pl_nrep_parse(struct pl_nrep_rule *rule, const char *text, char *why, size_t size)
{
    char word[64];
    rule->count = 0;
    for (;;) {
        size_t length = strcspn(text, ",");
        if (length >= sizeof word)
            return refuse_name(why, size);
        memcpy(word, text, length);
        word[length] = '\0';
        if (!parse_condition(rule, word, why, size))
            return false;
        if (text[length] == '\0')
            return true;
        text += length + 1;
    }
}

int pl_nrep_next(const struct pl_nrep_rule *rule, int taken)
{
    int more = taken == 0 ? rule->least : rule->step;
    return more < rule->most - taken ? more : rule->most - taken;
}

bool pl_nrep_met(const struct pl_nrep_rule *rule, const int64_t *ns, int count, int block,
                 double *values, double *room)
{
    bool met = true;
    for (int i = 0; i < rule->count; i++) {
        const struct pl_nrep_condition *condition = &rule->conditions[i];
        int window = condition->criterion->of_blocks ? block : condition->window;
        values[i] = condition->criterion->value(ns, count, window, room);
        if (!(values[i] < condition->threshold)) /* NAN is not met */
            met = false;
    }
    return met;
}
