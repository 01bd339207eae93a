/* When the cases of a launch are checked: each before it is timed, some between two blocks, drawn
 * at random, and all after the last block; each time with fresh data. What is right in one way of
 * use is so in the others. Ranks that stay alive do not check before what was right in an earlier
 * visit.
 *
 * All are collective. `cases` are `count` indices into the plan's cases; those that are wrong leave
 * them (their order may change). Returns how many are left, the same on all ranks. */
#ifndef PL_CHECKS_H
#define PL_CHECKS_H

#include "measure/blocks.h"

/* Also the trials, which are not timed: `cases` is filled with the others. */
int pl_checks_before(struct pl_timing *timing, int *cases);

/* One in as many as there are blocks, after the block of this number. */
int pl_checks_between(struct pl_timing *timing, int block, int *cases, int count);

int pl_checks_after(struct pl_timing *timing, int *cases, int count);

/* What earlier visits found right is checked again: other calls may answer now. */
void pl_checks_forget(void);

#endif
