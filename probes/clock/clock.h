/* Timers. One a file; clocks.def lists them; the plan names one. */
#ifndef PL_CLOCK_H
#define PL_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

/* What a timer that counts ticks needs to speak of nanoseconds:
 * ns = origin_ns + (ticks - origin_ticks) * multiplier / 2^PL_TICK_SHIFT. */
struct pl_calibration {
    uint64_t origin_ticks;
    int64_t origin_ns;
    uint64_t multiplier;
};

#define PL_TICK_SHIFT 56 /* ticks of up to 256 ns, to 10^-16; the product needs 128 bits */

struct pl_clock {
    const char *name;
    const char *summary;
    bool shared;             /* all processes of a node read one counter with one origin */
    int64_t (*now_ns)(void); /* after pl_clock_start (wtime: and MPI_Init) only */

    /* NULL where the timer is always there. Else why this process cannot use it, and what to do
     * about it; NULL when it can. */
    const char *(*missing)(void);
    /* Finds the numbers; takes some ten milliseconds. NULL where there are none. */
    void (*calibrate)(struct pl_calibration *calibration);
    /* Gets the timer ready, with these numbers; NULL where nothing is to do. False: it will not. */
    bool (*adopt)(const struct pl_calibration *calibration);
};

extern const struct pl_clock *const pl_clocks[];
extern const int pl_clock_count;
/* NULL, or why it cannot be used here, with the remedy. */
const char *pl_clock_missing(const struct pl_clock *clock);

/* Before the first reading. On a node one process calls pl_clock_calibrate; all, that one too, call
 * pl_clock_start with what it found: so they convert alike, and the clock stays shared. */
struct pl_calibration pl_clock_calibrate(const struct pl_clock *clock);
bool pl_clock_start(const struct pl_clock *clock, const struct pl_calibration *calibration);

/* Waits until the timer stands at `until_ns`. While there is more than a millisecond to go it gives
 * its core to whoever wants it: better now than in what is timed next. `crowded`: it does so to the
 * end, as the ranks that it shares the core with have to get ready too. */
void pl_clock_wait(const struct pl_clock *clock, int64_t until_ns, bool crowded);

/* What reading it is like on this machine. The resolution is the smallest step seen between two
 * reads that differ, so it is never below the cost of a read. */
struct pl_clock_quality {
    int64_t resolution_ns;
    int64_t cost_ns;
};

struct pl_clock_quality pl_clock_measure(const struct pl_clock *clock);

#endif
