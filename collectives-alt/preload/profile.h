/* A profile: which variant replaces a function, and when. The format is in docs/profile.md. */
#ifndef PL_PROFILE_H
#define PL_PROFILE_H

#include "variant.h"

#include <stdbool.h>
#include <stddef.h>

/* Inclusive; `inf` is INT_MAX, for bytes LLONG_MAX. */
struct pl_interval {
    long long from, to;
};

struct pl_rule {
    enum pl_function function;
    struct pl_interval nprocs, nodes, ppn, bytes;
    bool by_nodes;       /* `nodes` or `ppn` says something: who shares a node must be known */
    bool equal_counts;   /* the parts of all ranks are equally long */
    unsigned ops, types; /* classes.h */
    struct pl_spec spec;
    int line;
};

/* Stands for any function: refuses (canary.c). */
extern const struct pl_variant pl_canary;

enum { PL_STANDARD_MEMORY = 64 << 20, PL_STANDARD_COMMUNICATORS = 128 };

struct pl_profile {
    char library[256]; /* what the library's version string must start with; empty: any */
    size_t memory;     /* most bytes of scratch memory that a process keeps */
    int communicators; /* most private communicators of a process */
    int nearest;       /* factor within which rules for another nprocs stand in; 0: none do */
    struct pl_rule *rules;
    int count;
};

struct pl_profile_error {
    int line;
    char token[128]; /* empty when it is about the whole line */
    char what[256];
};

/* Reads a whole profile; `text` is cut into tokens on the way and must end with '\0' at `length`.
 * False: `error` says where and why, and there is nothing to free. */
bool pl_profile_parse(char *text, size_t length, struct pl_profile *profile,
                      struct pl_profile_error *error);
void pl_profile_free(struct pl_profile *profile);

/* True if a library that names itself `version` is the one the profile was made for. */
bool pl_profile_fits(const struct pl_profile *profile, const char *version);

/* The tokens of a rule line behind its first word (rule.c). */
bool pl_rule_parse(char *rest, struct pl_rule *rule, struct pl_profile_error *error);
/* True if one call could match both. */
bool pl_rules_overlap(const struct pl_rule *one, const struct pl_rule *other);
/* False, with the first line that overlaps with one before it, if two rules do (overlap.c). */
bool pl_rules_apart(const struct pl_profile *profile, struct pl_profile_error *error);

extern const char pl_blanks[];

/* Fills error, but for its line; returns false. */
__attribute__((format(printf, 3, 4))) bool
pl_profile_fail(struct pl_profile_error *error, const char *token, const char *format, ...);

/* Decimal digits only, up to `most`; returns what follows them, NULL if there is no such number. */
const char *pl_parse_number(const char *text, long long most, long long *value);

#endif
