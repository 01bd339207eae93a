/* Plans that stand in the test, parsed as on 4 ranks. */
#ifndef TEST_PLANS_H
#define TEST_PLANS_H

#include "plan.h"

#include <stdlib.h>
#include <string.h>

#define FIRST "plumbline-plan 1\n"

static struct pl_plan plan;
static struct pl_plan_error error;

static inline bool parse_bytes(const char *text, size_t size, int nprocs)
{
    char *copy = malloc(size + 1);
    pl_plan_free(&plan);
    memcpy(copy, text, size);
    return pl_plan_parse(&plan, copy, size, nprocs, &error);
}

static inline bool parse(const char *text)
{
    return parse_bytes(text, strlen(text), 4);
}

#endif
