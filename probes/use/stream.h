/* Calls back to back. */
#ifndef PL_STREAM_H
#define PL_STREAM_H

#include "plan.h"

/* `count` calls of a case, `wait` rounds of its planted delay after each and nothing else between
 * them: what they take together on this rank's timer. Failed calls are added to `failures`. */
int64_t pl_stream_run(const struct pl_clock *clock, const struct pl_case *c,
                      const struct pl_call *call, int64_t wait, int count, int64_t *failures);

#endif
