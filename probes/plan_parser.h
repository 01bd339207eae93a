/* How lines of a plan are read. Each kind of line has a table of keys, and one reader serves all
 * (plan_parser.c: keys and values; plan.c: lines). Rules that need a whole line or the whole plan
 * are functions beside the tables (plan_set.c, plan_case.c, plan_messages.c, plan_overlap.c). */
#ifndef PL_PLAN_PARSER_H
#define PL_PLAN_PARSER_H

#include "names.h"
#include "plan.h"

#include <stddef.h>
#include <stdint.h>

/* A line `messages`: the steps of one rank. */
struct pl_messages_line {
    int line;
    const char *id, *steps;
    int rank;
};

struct pl_parser {
    struct pl_plan *plan;
    struct pl_plan_error *error;
    int nprocs;                      /* 0: not known */
    const struct pl_line_kind *line; /* the kind of line that is read, or whose rules are applied */
    const void *item;                /* what it describes */
    uint32_t given;                  /* keys of the line that is read: a bit for each */
    uint32_t given_by_set;           /* keys of all lines `set` */
    struct pl_messages_line messages; /* the line `messages` that is read */
};

enum pl_value {
    PL_VALUE_NUMBER, /* a whole number, into a bool, an int or 64 bits */
    PL_VALUE_TEXT,   /* a pointer to the text; NULL: the key is not given */
    PL_VALUE_INDEX,  /* a name, into the int or enumeration that is its place in a list */
    PL_VALUE_ENTRY,  /* a name, into a pointer to the entry of a list; NULL: the key is not given */
};

enum pl_flag {
    PL_NEEDED = 1,       /* a plan without this key is refused */
    PL_QUIET_IF_ZERO = 2 /* pl_plan_echo leaves the key out if its value is 0 or not given */
};

struct pl_key {
    const char *name;
    enum pl_value value;
    unsigned flags;
    size_t offset, size;  /* of the member in what the line describes; size 0: it has none */
    uint64_t least, most; /* of a number */
    enum pl_list list;    /* of a name */
    /* Called with a text that was stored; NULL: nothing is to do. False: it is refused. */
    bool (*take)(struct pl_parser *parser, void *item, const char *value);
};

/* What stands in a row of a table of keys. `item` is the struct that a line describes. */
#define PL_KEY(key, kind, bits, item, member)                                                      \
    .name = key, .value = kind, .flags = bits, .offset = offsetof(item, member),                   \
    .size = sizeof(((item *)0)->member)
#define PL_NUMBER(item, key, member, bits, lowest, highest)                                        \
    PL_KEY(key, PL_VALUE_NUMBER, bits, item, member), .least = lowest, .most = highest
#define PL_TEXT(item, key, member, bits, function)                                                 \
    PL_KEY(key, PL_VALUE_TEXT, bits, item, member), .take = function
#define PL_INDEX(item, key, member, bits, names)                                                   \
    PL_KEY(key, PL_VALUE_INDEX, bits, item, member), .list = names
#define PL_ENTRY(item, key, member, bits, names)                                                   \
    PL_KEY(key, PL_VALUE_ENTRY, bits, item, member), .list = names

/* What stands in a kind of line whose items are in an array of the plan. */
#define PL_ITEMS(array, number, type)                                                              \
    .items = offsetof(struct pl_plan, array), .count = offsetof(struct pl_plan, number),           \
    .size = sizeof(type)

/* A kind of line. What it describes (the item) begins with an int: the number of its line. */
struct pl_line_kind {
    const char *word;
    const struct pl_key *keys; /* up to 32; the last one has no name */
    /* Items are in an array of the plan; the offsets are of its pointer and of its length in struct
     * pl_plan. Size 0: there is one item, the plan itself or the messages of the parser. */
    size_t items, count, size;
    bool unique; /* no two items have the same value of the first key, which is an int */
    /* Takes a key that is not in the table; NULL: it is refused. */
    bool (*take_other)(struct pl_parser *parser, void *item, const char *name, const char *value);
    /* Applies the rules of a whole line; NULL: there are none. False: refused. */
    bool (*finish)(struct pl_parser *parser, void *item);
};

extern const struct pl_line_kind pl_line_config, pl_line_messages; /* plan.h has the others */

/* The rules of the whole plan; false: refused. */
bool pl_finish_plan(struct pl_parser *parser);
bool pl_finish_all_messages(struct pl_parser *parser);

/* The messages with this id; NULL: there are none. */
const struct pl_messages *pl_messages_by_id(const struct pl_plan *plan, const char *id);
void pl_messages_free(struct pl_messages *messages);

/* Reads decimal digits: no sign, no blank, no other base. False: refused with the range. */
bool pl_take_number(struct pl_parser *parser, const char *text, uint64_t least, uint64_t most,
                    uint64_t *value);
/* Stores the value of a key in the item; false: refused. */
bool pl_take_value(struct pl_parser *parser, const struct pl_key *key, void *item,
                   const char *value);
/* Room for one more item, zeroed, in an array that doubles. NULL: no memory, which is refused. */
void *pl_append(struct pl_parser *parser, void *array_pointer, int *count, size_t size);

/* The row of a key; its name is NULL where the table has none of this name. */
const struct pl_key *pl_key_of(const struct pl_line_kind *line, const char *name);
/* Moves to an item. The functions below are about the item that the parser is at. */
void pl_at(struct pl_parser *parser, const struct pl_line_kind *line, const void *item);
/* Whether the line that is read (of `set`: any of its lines) has the key. */
bool pl_given(const struct pl_parser *parser, const char *name);

/* All of these fill in parser->error and return false. pl_refuse keeps line and token;
 * pl_refuse_key points at the item's line and at "name=value" there; pl_refuse_missing says that
 * the line lacks the key. */
bool pl_refuse(struct pl_parser *parser, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
bool pl_refuse_key(struct pl_parser *parser, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
bool pl_refuse_missing(struct pl_parser *parser, const char *name);

/* A rule of a line: whether the item breaks it, the key at fault, and what to write instead. */
struct pl_line_rule {
    bool broken;
    const char *key, *why;
};

/* Refuses the first rule that is broken, as pl_refuse_key; true: none is. */
bool pl_obeys(struct pl_parser *parser, const struct pl_line_rule *rules, size_t count);
#define PL_OBEYS(parser, rules) pl_obeys(parser, rules, sizeof(rules) / sizeof *(rules))

#endif
