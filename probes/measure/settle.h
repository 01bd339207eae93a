/* Whether the times of a case still fall: its warm-up goes on until they do not, and samples from
 * before a later fall are no results. Libraries learn: some make their communicators of nodes, or
 * choose an algorithm, after so many calls. Pure. */
#ifndef PL_SETTLE_H
#define PL_SETTLE_H

#include <stdbool.h>
#include <stdint.h>

#define PL_SETTLE_GROUP 8               /* calls that are looked at together */
#define PL_SETTLE_NS INT64_C(100000000) /* after which nobody waits for a case any more */

/* Of the last calls of a series: whether a group of them lies below the one before it, by more than
 * noise and by more than a twentieth. The last group is looked at as a whole, and its second half
 * by itself. Of fewer than two groups the halves of the last one are compared; fewer than one say
 * nothing. */
bool pl_settle_falls(const int64_t *ns, int count);

/* How many of the first blocks, three quarters of them at most, lie above all that follow, by more
 * than noise and by more than a tenth; `ns` has `reps` samples of each block. 0: none do. `room`:
 * for as many values. */
int pl_settle_transit(const int64_t *ns, int blocks, int reps, int64_t *room);

#endif
