/* Which cases are run: all combinations of the factors, or a set that has every pair of values of
 * two factors at least once. */
#ifndef PL_TEST_DESIGN_H
#define PL_TEST_DESIGN_H

#include "cases.h"

enum factor { COMM, COUNT, LAYOUT, ROOT, OPERATION, IN_PLACE, FACTORS };

/* Communicators of variants.c; the least and the largest size of one. */
struct group {
    MPI_Comm comm;
    const char *name;
    int least, most;
};

/* Values of COUNT: 0, 1, p - 1, p + 1, an odd one, and BIG elements in all. */
enum { COUNTS = 6, BIG = 10007 };

struct design {
    int (*rows)[FACTORS];
    int size;
};

/* The same on all ranks. */
struct design design_make(enum pl_function function, const struct group *groups, int group_count,
                          bool everything);
void design_free(struct design *design);

/* The setting of a row on this rank. */
struct setting design_setting(enum pl_function function, const struct group *groups,
                              const int row[FACTORS]);

#endif
