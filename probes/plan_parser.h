/* What plan.c (lines and tokens) and the files of its keys (plan_set.c, plan_case.c, …) share. */
#ifndef PL_PLAN_PARSER_H
#define PL_PLAN_PARSER_H

#include "plan.h"

#include <stddef.h>

#define PL_MOST_KEYS 32 /* of a line */

struct pl_parser {
    struct pl_plan *plan;
    struct pl_plan_error *error;
    int nprocs;
    struct pl_case *current; /* the case whose line is read */
    struct {
        const char *id, *steps;
        int rank;
    } messages;                      /* the line `messages` that is read */
    int set_line;                    /* 0: none yet */
    int reps_line, reps;             /* of the first case that says how many; 0: none */
    const char *given[PL_MOST_KEYS]; /* by key of the set line: its value there; NULL: none */
};

struct pl_key {
    const char *name;
    bool (*take)(struct pl_parser *parser, const char *value); /* NULL: a number */
    bool required;
    struct {
        size_t offset, size; /* in what the line describes: a bool, an int or 64 bits */
        uint64_t least, most;
    } number;
};

/* A key whose value is a whole number, and no more than that. */
#define PL_NUMBER(key, type, member, lowest, highest)                                              \
    .name = key, .number = {offsetof(type, member), sizeof(((type *)0)->member), lowest, highest}

extern const struct pl_key pl_set_keys[], pl_case_keys[], pl_pingpong_keys[], pl_overlap_keys[],
    pl_messages_keys[];
extern const int pl_set_key_count, pl_case_key_count, pl_pingpong_key_count, pl_overlap_key_count,
    pl_messages_key_count;

/* What only the whole line can tell: does the variant compute the function, is the op defined … */
bool pl_finish_case(struct pl_parser *parser);
bool pl_finish_pingpong(struct pl_parser *parser);
bool pl_finish_overlap(struct pl_parser *parser);
/* What only the whole plan can tell. */
bool pl_finish_plan(struct pl_parser *parser);

/* Ways of use: a key of cases, one of the set line, and what only the whole plan can tell. */
bool pl_take_use(struct pl_parser *parser, const char *value);
bool pl_take_plan_use(struct pl_parser *parser, const char *value);
bool pl_take_arrival(struct pl_parser *parser, const char *value);
bool pl_finish_uses(struct pl_parser *parser);

/* Messages that are played again: a line, what only all lines can tell, and one of them by its id
 * (NULL: there is none). */
bool pl_finish_messages(struct pl_parser *parser);
bool pl_finish_all_messages(struct pl_parser *parser);
const struct pl_messages *pl_messages_by_id(const struct pl_plan *plan, const char *id);
void pl_messages_free(struct pl_messages *messages);

/* Decimal digits only: no sign, no blank, no other base. False: refused with the range. */
bool pl_take_number(struct pl_parser *parser, const char *text, uint64_t least, uint64_t most,
                    uint64_t *value);
bool pl_take_int(struct pl_parser *parser, const char *text, int least, int most, int *value);
/* From `least` to INT_MAX. */
bool pl_take_count(struct pl_parser *parser, const char *text, int least, int *value);

/* Fill in error->why and return false. pl_refuse_token replaces the token as well. */
bool pl_refuse(struct pl_parser *parser, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
bool pl_refuse_token(struct pl_parser *parser, const char *key, const char *value,
                     const char *format, ...) __attribute__((format(printf, 4, 5)));

#endif
