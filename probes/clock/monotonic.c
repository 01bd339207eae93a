/* CLOCK_MONOTONIC: never stepped, but slewed by NTP by up to 500 parts in a million. For kernels on
 * which the raw clock needs a system call. */
#include "clock/clock.h"

#include <time.h>

static int64_t now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

const struct pl_clock pl_clock_monotonic = {
    .name = "monotonic",
    .summary = "CLOCK_MONOTONIC: slewed by NTP",
    .shared = true,
    .now_ns = now_ns,
};
