/* Groups of ranks: sub-communicators, reordered ones, and nodes that one machine does not have. */
#ifndef PL_TEST_NODES_H
#define PL_TEST_NODES_H

#include "design.h"

enum { GROUPS_MAX = 5 };

/* Makes the communicators that differ with this many ranks; returns how many. */
int groups_make(struct group groups[GROUPS_MAX]);
void groups_free(struct group groups[GROUPS_MAX], int count);

#endif
