/* The arguments of test cases, and the memory they work on. */
#ifndef PL_TEST_CASES_H
#define PL_TEST_CASES_H

#include "layouts.h"
#include "variant.h"

enum { GUARD = 64, MIXED = LAYOUTS };

struct area {
    char *memory;
    size_t bytes;
};

struct setting {
    MPI_Comm comm;
    const char *comm_name;
    int count, layout, root; /* layout MIXED: each rank and side has its own */
    const struct operation *operation;
    bool in_place;
};

/* The call of this rank on side[0], from which it sends, and side[1]. Arguments that are not
 * significant are garbage. `counts` has room for one number a rank. */
struct pl_call call_for(enum pl_function function, const struct setting *setting, int *counts,
                        const struct area side[2]);

/* Zeroes what a call leaves undefined in its receive area. */
void forget_undefined(const struct pl_call *call, struct area *area);

/* Bit by bit, or as doubles within the bound of a sum of positive numbers. */
bool areas_equal(const struct area *a, const struct area *b, bool exact);

#endif
