/* A trial: all its calls, each with other data, another volume, another root and in circumstances
 * of its own; between these, calls that nobody checks, so that a process makes tens of thousands.
 */
#ifndef PL_TRIAL_H
#define PL_TRIAL_H

#include "measure/blocks.h"
#include "measure/check.h"

/* On the ranks that the case runs on, whose `group` it is. */
enum pl_outcome pl_trial(const struct pl_timing *timing, const struct pl_case *c, int group,
                         uint64_t seed, struct pl_finding *finding);

#endif
