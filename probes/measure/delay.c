/* The wait is a chain of dependent multiplications, so that its length is a number of processor
 * cycles. It reads no clock: one read takes as long as the shortest waits. The price: a core that
 * changes its frequency after the calibration changes all waits with it. */
#include "measure/delay.h"

#include <math.h>

/* The fastest of some series: one in which the process lost its core, or the core was slow to wake,
 * says nothing about the wait. Short, so that most fit between two interruptions. */
static int64_t fastest(const struct pl_clock *clock, int64_t rounds)
{
    enum { BATCHES = 100 };
    int64_t least = INT64_MAX;
    for (int batch = 0; batch < BATCHES; batch++) {
        int64_t start = clock->now_ns();
        pl_delay_wait(rounds);
        int64_t ns = clock->now_ns() - start;
        if (ns < least)
            least = ns;
    }
    return least;
}

/* From two lengths, so that the cost of the clock falls out. */
struct pl_delay pl_delay_calibrate(const struct pl_clock *clock)
{
    enum { SHORT = 1000, LONG = 9000, MOST = LONG << 12 };
    int64_t longer = LONG;
    fastest(clock, LONG); /* wakes the core */
    int64_t low = fastest(clock, SHORT), high = fastest(clock, longer);
    /* A clock so coarse that it does not see the difference: lengthen. */
    for (; high - low < 1000 && longer < MOST; longer *= 2)
        high = fastest(clock, 2 * longer);
    struct pl_delay delay = {(double)(longer - SHORT) / (double)(high > low ? high - low : 1)};
    return delay;
}

int64_t pl_delay_rounds(const struct pl_delay *delay, int64_t ns)
{
    return ns > 0 ? (int64_t)llround((double)ns * delay->rounds_per_ns) : 0;
}
