/* The global clock in a launch: learnt before the blocks, its residual error measured before and
 * after them, and what is too short for that error refused. */
#ifndef PL_CLOCKS_H
#define PL_CLOCKS_H

#include "clock/global.h"
#include "measure/rounds.h"
#include "record.h"

/* Collective: learns the models, and records synchronisation, models and error. False: rank 0 is
 * out of memory. */
bool pl_clocks_learn(struct pl_global *global, struct pl_record *record, int64_t *error_ns);
/* Collective: records the error that the models have by now. The largest over the domains, on rank
 * 0; -1: it is out of memory. */
int64_t pl_clocks_error(const struct pl_global *global, struct pl_record *record, const char *when);

/* pl_clocks_learn where the blocks need it. */
bool pl_clocks_open(struct pl_global *global, const struct pl_plan *plan, struct pl_record *record,
                    int64_t *error_ns);

/* Collective, after the last block: records the error, and which of the `count` cases are no
 * results, of those that need the global clock: none of their repetitions was valid or their median
 * is below clock_multiple times the larger of the errors at start (`error_ns`) and end. Nothing
 * where no global clock is needed. Samples in the tallies are sorted. False: rank 0 is out of
 * memory. */
bool pl_clocks_close(const struct pl_global *global, struct pl_rounds *rounds, const int *cases,
                     int count, int64_t error_ns);

#endif
