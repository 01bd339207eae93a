/* The time-stamp counter of x86-64 processors, read with RDTSCP: no call, some ten nanoseconds.
 *
 * RDTSCP waits until all earlier instructions have executed, but lets later ones begin before it
 * has read; the LFENCE behind it keeps those back (Intel, Software Developer's Manual, volume 2B,
 * RDTSCP). So the timed region begins after the first read and has ended before the second.
 *
 * Only where the counter is invariant (the kernel's constant_tsc and nonstop_tsc): it runs at one
 * rate whatever the core's frequency, and goes on in all sleep states. Its rate comes from
 * comparing it with CLOCK_MONOTONIC_RAW over SPAN_NS: at both ends the pair of readings that lie
 * closest together, of many, so that each is off by some nanoseconds. */
#include "clock/clock.h"
#include "simulated.h"

#include <stddef.h>

#if defined(__x86_64__) && !PL_SIMULATED

#include <cpuid.h>
#include <time.h>
#include <x86intrin.h>

#define SPAN_NS 50000000
#define PAIRS 2000

static struct pl_calibration numbers;

static inline uint64_t read_ticks(void)
{
    unsigned core;
    uint64_t ticks = __rdtscp(&core);
    _mm_lfence();
    return ticks;
}

static int64_t now_ns(void)
{
    int64_t ticks = (int64_t)(read_ticks() - numbers.origin_ticks); /* before the origin: < 0 */
    return numbers.origin_ns +
           (int64_t)(((__int128)ticks * (__int128)numbers.multiplier) >> PL_TICK_SHIFT);
}

static const char *missing(void)
{
    unsigned a, b, c, d;
    if (!__get_cpuid(0x80000001u, &a, &b, &c, &d) || !(d & 1u << 27))
        return "this processor has no RDTSCP; use clock=monotonic_raw";
    if (!__get_cpuid(0x80000007u, &a, &b, &c, &d) || !(d & 1u << 8))
        return "the time-stamp counter of this processor is not invariant (constant_tsc, "
               "nonstop_tsc in /proc/cpuinfo): its rate changes; use clock=monotonic_raw";
    return NULL;
}

struct pair {
    uint64_t ticks;
    int64_t ns;
};

/* Both clocks at one moment: of many readings of the clock between two of the counter, the one with
 * the least between them. */
static struct pair read_pair(void)
{
    struct pair best = {0, 0};
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < PAIRS; i++) {
        struct timespec time;
        uint64_t before = read_ticks();
        clock_gettime(CLOCK_MONOTONIC_RAW, &time);
        uint64_t between = read_ticks() - before;
        if (between < least) {
            least = between;
            best.ticks = before + between / 2;
            best.ns = (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
        }
    }
    return best;
}

static void calibrate(struct pl_calibration *calibration)
{
    struct pair first = read_pair();
    nanosleep(&(struct timespec){0, SPAN_NS}, NULL);
    struct pair last = read_pair();
    calibration->origin_ticks = first.ticks;
    calibration->origin_ns = first.ns;
    calibration->multiplier =
        (uint64_t)(((unsigned __int128)(uint64_t)(last.ns - first.ns) << PL_TICK_SHIFT) /
                   (last.ticks - first.ticks));
}

static bool adopt(const struct pl_calibration *calibration)
{
    numbers = *calibration;
    return true;
}

#else

static const char *missing(void)
{
    return PL_SIMULATED ? PL_SIMULATED_WHY ": its time is no processor's; use clock=monotonic_raw"
                        : "the time-stamp counter is read on x86-64 processors only; use "
                          "clock=monotonic_raw";
}

#endif

const struct pl_clock pl_clock_tsc = {
    .name = "tsc",
    .summary = "RDTSCP of x86-64 with an invariant counter",
    .shared = true,
    .missing = missing,
#if defined(__x86_64__) && !PL_SIMULATED
    .now_ns = now_ns,
    .calibrate = calibrate,
    .adopt = adopt,
#endif
};
