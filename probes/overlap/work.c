#include "overlap/work.h"

#include "ascending.h"
#include "measure/delay.h"

#include <math.h>
#include <stdlib.h>

const char *const pl_kernel_names[PL_KERNEL_COUNT] = {"registers", "memory"};

enum { WORDS_PER_UNIT = 8 }; /* a cache line */

static void stream(struct pl_work *work, int64_t units)
{
    size_t at = work->next;
    pl_delay_fence();
    for (; units > 0; units--) {
        for (int i = 0; i < WORDS_PER_UNIT; i++)
            work->area[at + (size_t)i] += (uint64_t)units;
        at = at + WORDS_PER_UNIT < work->words ? at + WORDS_PER_UNIT : 0;
    }
    __asm__ volatile("" ::"r"(work->area) : "memory"); /* it is wanted */
    work->next = at;
}

void pl_work_do(struct pl_work *work, enum pl_kernel kernel, int64_t units)
{
    if (units <= 0)
        return;
    if (kernel == PL_KERNEL_MEMORY)
        stream(work, units);
    else
        pl_delay_wait(units);
}

static int64_t timed(struct pl_work *work, const struct pl_clock *clock, enum pl_kernel kernel,
                     int64_t units)
{
    int64_t begin = clock->now_ns();
    pl_work_do(work, kernel, units);
    return clock->now_ns() - begin;
}

/* The least of a few: others may have had the core in some. */
static int64_t shortest(struct pl_work *work, const struct pl_clock *clock, enum pl_kernel kernel,
                        int64_t units)
{
    enum { TIMES = 5 };
    int64_t least = INT64_MAX;
    for (int i = 0; i < TIMES; i++) {
        int64_t ns = timed(work, clock, kernel, units);
        least = ns < least ? ns : least;
    }
    return least;
}

/* The median of series of about half a millisecond each: what a core usually does. */
static double rate(struct pl_work *work, const struct pl_clock *clock, enum pl_kernel kernel)
{
    enum { BATCHES = 31, LONG_NS = 500000, MOST = 1 << 28 };
    int64_t ns[BATCHES], units = 1024;
    while (shortest(work, clock, kernel, units) < LONG_NS && units < MOST)
        units *= 2;
    for (int i = 0; i < BATCHES; i++)
        ns[i] = timed(work, clock, kernel, units);
    qsort(ns, BATCHES, sizeof *ns, pl_by_ns);
    return (double)units / (double)(ns[BATCHES / 2] > 0 ? ns[BATCHES / 2] : 1);
}

static bool open_area(struct pl_work *work, size_t bytes)
{
    work->words = bytes / sizeof *work->area / WORDS_PER_UNIT * WORDS_PER_UNIT;
    work->area = calloc(work->words, sizeof *work->area);
    for (size_t i = 0; work->area && i < work->words; i++)
        work->area[i] = i; /* its pages are there */
    return work->area;
}

bool pl_work_open(struct pl_work *work, const struct pl_clock *clock,
                  const bool wanted[PL_KERNEL_COUNT], size_t bytes)
{
    *work = (struct pl_work){0};
    if (wanted[PL_KERNEL_MEMORY] && !open_area(work, bytes))
        return false;
    for (int kernel = 0; kernel < PL_KERNEL_COUNT; kernel++)
        if (wanted[kernel])
            work->units_per_ns[kernel] = rate(work, clock, (enum pl_kernel)kernel);
    return true;
}

bool pl_work_copy(struct pl_work *copy, const struct pl_work *work, size_t bytes)
{
    *copy = *work;
    copy->area = NULL;
    copy->next = 0;
    return !work->area || open_area(copy, bytes);
}

void pl_work_close(struct pl_work *work)
{
    free(work->area);
    *work = (struct pl_work){0};
}

int64_t pl_work_units(const struct pl_work *work, enum pl_kernel kernel, int64_t ns)
{
    int64_t units = llround((double)ns * work->units_per_ns[kernel]);
    return ns <= 0 ? 0 : units > 1 ? units : 1;
}
