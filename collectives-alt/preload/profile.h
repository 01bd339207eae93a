/* A profile: which variant replaces a function, and when. The format is in docs/profile.md. */
#ifndef PL_PROFILE_H
#define PL_PROFILE_H

#include "variant.h"

#include <stdbool.h>
#include <stddef.h>

/* Ranges are inclusive; `inf` is INT_MAX or LLONG_MAX. */
struct pl_rule {
    enum pl_function function;
    int nprocs_from, nprocs_to;
    long long bytes_from, bytes_to;
    const struct pl_variant *variant;
    int line;
};

/* Stands for any function: refuses (canary.c). */
extern const struct pl_variant pl_canary;

struct pl_profile {
    char library[256]; /* what the library's version string must start with; empty: any */
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

#endif
