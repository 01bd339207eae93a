/* Computation that is to overlap with communication: a fixed amount of work, not a time. Whoever
 * takes the core meanwhile makes it take longer, and is seen; a loop that reads the clock until its
 * time is over would not show it. */
#ifndef PL_WORK_H
#define PL_WORK_H

#include "clock/clock.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* registers: dependent multiplications, no memory. memory: read, add, write, through more memory
 * than the caches hold, so that it shares the memory's bandwidth with messages. */
enum pl_kernel { PL_KERNEL_REGISTERS, PL_KERNEL_MEMORY, PL_KERNEL_COUNT };

extern const char *const pl_kernel_names[PL_KERNEL_COUNT];

struct pl_work {
    double units_per_ns[PL_KERNEL_COUNT];
    uint64_t *area; /* of the memory kernel */
    size_t words, next;
};

/* Measures how much work this rank's core does in a nanosecond; some 20 ms for each kernel that is
 * `wanted`. `bytes`: of the area of the memory kernel. False: out of memory. */
bool pl_work_open(struct pl_work *work, const struct pl_clock *clock,
                  const bool wanted[PL_KERNEL_COUNT], size_t bytes);
/* For another thread: the same rates, and an area of its own, touched by the caller, where there is
 * one. False: out of memory. */
bool pl_work_copy(struct pl_work *copy, const struct pl_work *work, size_t bytes);
void pl_work_close(struct pl_work *work);

/* Units that take `ns` by the calibration, 1 at least; 0 for no time. */
int64_t pl_work_units(const struct pl_work *work, enum pl_kernel kernel, int64_t ns);

void pl_work_do(struct pl_work *work, enum pl_kernel kernel, int64_t units);

#endif
