/* Threads that the overlap lines of a plan ask for: those of benchmarks, and the helper, which asks
 * the library for messages while a rank computes (M. Wittmann, G. Hager, arXiv 1302.4280, do so for
 * any library), on a communicator that has none. */
#ifndef PL_THREADS_H
#define PL_THREADS_H

#include "overlap/cores.h"
#include "overlap/thread_pool.h"
#include "plan.h"

struct pl_threads {
    struct pl_cores cores;
    struct pl_thread_pool *pool;   /* NULL: no line has threads */
    struct pl_thread_pool *helper; /* of one; NULL: no line has one */
    MPI_Comm aside;
};

/* Collective. NULL, or what the plan needs and is not there, on all ranks: threads in the library,
 * or processing units for helpers that want one of their own. */
const char *pl_threads_refused(const struct pl_plan *plan, const struct pl_world *world);

/* Collective. `plays`: this rank has threads, with what is calibrated in `work`. NULL, or what went
 * wrong, on all ranks. */
const char *pl_threads_open(struct pl_threads *threads, const struct pl_plan *plan,
                            const struct pl_world *world, bool plays, const struct pl_work *work);
void pl_threads_close(struct pl_threads *threads);

/* The helper is at work from here on, and asleep again. */
void pl_threads_help(const struct pl_threads *threads);
void pl_threads_rest(const struct pl_threads *threads);

#endif
