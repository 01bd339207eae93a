/* The overlap cells of a plan: for each, triples of communication alone, computation alone and
 * both, the three of a triple in random order, cells in random order too. Who takes part, the
 * benchmarks say; all cells of a launch the same. docs/overlap.md. */
#ifndef PL_OVERLAP_H
#define PL_OVERLAP_H

#include "clock/global.h"
#include "record.h"

/* Collective. NULL, or what went wrong, on all ranks. `global`: learnt, where cells are traced.
 * `timed_ns` (rank 0) is raised by what was timed. */
const char *pl_overlap_run(const struct pl_plan *plan, const struct pl_world *world,
                           struct pl_record *record, const struct pl_global *global,
                           int64_t *timed_ns);

#endif
