/* A planted slow-down: a busy wait of so many nanoseconds, for cases with `delay_ns`. */
#ifndef PL_DELAY_H
#define PL_DELAY_H

#include "clock/clock.h"

#include <stdint.h>

struct pl_delay {
    double rounds_per_ns;
};

/* How fast this rank's core turns, measured against `clock` in about two milliseconds; every rank
 * for itself, as cores may differ. */
struct pl_delay pl_delay_calibrate(const struct pl_clock *clock);

/* Rounds of the wait that lasts `ns`; 0 for none. */
int64_t pl_delay_rounds(const struct pl_delay *delay, int64_t ns);

/* The processor has done all that comes before, as at a read of its counter. Without it the first
 * ten nanoseconds of a wait hide behind the end of the call. */
static inline void pl_delay_fence(void)
{
#if defined(__x86_64__)
    __asm__ volatile("lfence" ::: "memory");
#elif defined(__aarch64__)
    __asm__ volatile("isb" ::: "memory");
#endif
}

/* `rounds` dependent multiplications, nothing else: no memory, no system call. */
static inline void pl_delay_wait(int64_t rounds)
{
    if (rounds <= 0)
        return;
    uint64_t value = (uint64_t)rounds;
    pl_delay_fence();
    for (; rounds > 0; rounds--) {
        value = value * 0x9E3779B97F4A7C15u + 1;
        __asm__ volatile("" : "+r"(value)); /* each round waits for the one before */
    }
}

#endif
