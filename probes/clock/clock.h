/* Timers. One a file; clocks.def lists them; the plan names one. */
#ifndef PL_CLOCK_H
#define PL_CLOCK_H

#include <stdint.h>

struct pl_clock {
    const char *name;
    const char *summary;
    int64_t (*now_ns)(void); /* never goes back; may be called after MPI_Init only */
};

extern const struct pl_clock *const pl_clocks[];
extern const int pl_clock_count;
const struct pl_clock *pl_clock_by_name(const char *name); /* NULL when unknown */

/* What reading it is like on this machine. The resolution is the smallest step seen between two
 * reads that differ, so it is never below the cost of a read. */
struct pl_clock_quality {
    int64_t resolution_ns;
    int64_t cost_ns;
};

struct pl_clock_quality pl_clock_measure(const struct pl_clock *clock);

#endif
