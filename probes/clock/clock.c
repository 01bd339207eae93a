/* The table of timers, and what a timer is measured to be. */
#include "clock/clock.h"

#include <sched.h>

#define PL_CLOCK(name) extern const struct pl_clock pl_clock_##name;
#include "clock/clocks.def"
#undef PL_CLOCK

const struct pl_clock *const pl_clocks[] = {
#define PL_CLOCK(name) &pl_clock_##name,
#include "clock/clocks.def"
#undef PL_CLOCK
};
const int pl_clock_count = sizeof pl_clocks / sizeof *pl_clocks;

const char *pl_clock_missing(const struct pl_clock *clock)
{
    return clock->missing ? clock->missing() : NULL;
}

struct pl_calibration pl_clock_calibrate(const struct pl_clock *clock)
{
    struct pl_calibration calibration = {0};
    if (clock->calibrate)
        clock->calibrate(&calibration);
    return calibration;
}

bool pl_clock_start(const struct pl_clock *clock, const struct pl_calibration *calibration)
{
    return !clock->adopt || clock->adopt(calibration);
}

void pl_clock_wait(const struct pl_clock *clock, int64_t until_ns, bool crowded)
{
    const int64_t close_ns = crowded ? 0 : 1000000;
    while (clock->now_ns() < until_ns - close_ns)
        sched_yield();
    while (clock->now_ns() < until_ns)
        continue;
}

/* The cost is that of the fastest of some batches: a batch in which the process lost its core says
 * nothing about the timer. */
struct pl_clock_quality pl_clock_measure(const struct pl_clock *clock)
{
    enum { BATCHES = 50, READS = 200 };
    struct pl_clock_quality quality = {INT64_MAX, INT64_MAX};

    for (int batch = 0; batch < BATCHES; batch++) {
        int64_t first = clock->now_ns(), last = first;
        for (int i = 0; i < READS; i++) {
            int64_t now = clock->now_ns();
            if (now > last && now - last < quality.resolution_ns)
                quality.resolution_ns = now - last;
            last = now;
        }
        if ((last - first) / READS < quality.cost_ns)
            quality.cost_ns = (last - first) / READS;
    }
    /* A timer so coarse that no batch saw it move: wait for its next step. */
    if (quality.resolution_ns == INT64_MAX) {
        int64_t start = clock->now_ns(), now = start;
        while (now == start)
            now = clock->now_ns();
        quality.resolution_ns = now - start;
    }
    return quality;
}
