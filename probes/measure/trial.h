/* A trial: all its calls, each with other data, another volume, another root and in circumstances
 * of its own; between these, calls that nobody checks, so that a process makes tens of thousands.
 */
#ifndef PL_TRIAL_H
#define PL_TRIAL_H

#include "measure/check.h"

/* On the ranks that the case runs on, whose `group` it is. */
enum pl_outcome pl_trial(const struct pl_case *c, const struct pl_config_state *config,
                         const struct pl_groups *groups, int group, struct pl_buffers *buffers,
                         uint64_t seed, struct pl_finding *finding);

#endif
