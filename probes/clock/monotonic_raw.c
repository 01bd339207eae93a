/* CLOCK_MONOTONIC_RAW: the hardware counter as it is, neither stepped nor slewed by NTP. What Linux
 * has for measuring intervals; a read costs a call into the vDSO. */
#include "clock/clock.h"

#include <time.h>

static int64_t now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC_RAW, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

const struct pl_clock pl_clock_monotonic_raw = {
    .name = "monotonic_raw",
    .summary = "CLOCK_MONOTONIC_RAW: not slewed by NTP",
    .shared = true,
    .now_ns = now_ns,
};
