/* Measuring as the common benchmark programs do, so that ours can be compared with it: every case
 * once, in the order of the plan, many repetitions, one arithmetic mean a rank. */
#ifndef PL_PLAIN_H
#define PL_PLAIN_H

#include "measure/blocks.h"

/* One loop of such a program. What it sends between repetitions is the library's own barrier. */
struct pl_plain {
    const char *name;
    const char *summary;
    /* `count` repetitions; adds the failed calls to `failures`; returns the timed ns in all. */
    int64_t (*loop)(const struct pl_timing *timing, const struct pl_case *c,
                    const struct pl_call *call, int count, int64_t *failures);
};

extern const struct pl_plain *const pl_plains[];
extern const int pl_plain_count;

/* Like pl_blocks_run, in one block. The samples of a case are one value a rank: its mean. */
const char *pl_plain_run(struct pl_timing *timing);

#endif
