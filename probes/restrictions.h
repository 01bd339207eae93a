/* Names of what a variant cannot do (enum pl_restriction), for lists and messages. */
#ifndef PL_RESTRICTIONS_H
#define PL_RESTRICTIONS_H

#include "variant.h"

struct pl_restriction_name {
    unsigned restriction;
    const char *name;
    const char *meaning;
};

extern const struct pl_restriction_name pl_restriction_names[];
extern const int pl_restriction_count;

#endif
