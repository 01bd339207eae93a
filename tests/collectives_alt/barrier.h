/* Does a Barrier hold everybody until the last one has come? */
#ifndef PL_TEST_BARRIER_H
#define PL_TEST_BARRIER_H

#include "cases.h"

void barrier_prepare(void);
void barrier_finish(void);

/* Every rank writes into shared memory that it enters, and on leaving looks whether all others did.
 * The rank `root` of the setting comes late: only when somebody has left, which is the mistake, or
 * when nobody has for some time. NULL, or what went wrong. */
const char *barrier_check(const struct pl_spec *spec, const struct setting *setting);

#endif
