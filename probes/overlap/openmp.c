/* As sender, but the computation is a parallel region of OpenMP: each of its threads does the work
 * of the cell, the rank's own thread is one of them and makes all calls of MPI. What a message
 * beside it costs the region is what A. Denis and F. Trahay announce ("MPI Overlap: Benchmark and
 * Analysis", ICPP 2016, section VII). The other threads run where those of the pool do. */
#include "overlap/bench.h"
#include "overlap/thread_pool.h"
#include "system/units.h"

#ifdef _OPENMP
#include <omp.h>

const bool pl_openmp_is_built = true;

static _Thread_local int bound = -1; /* unit of this thread of the team */

static void compute(const struct pl_exchange *exchange)
{
#pragma omp parallel num_threads(exchange->threads)
    {
        const int number = omp_get_thread_num();
        struct pl_work *work = exchange->work;
        if (number > 0) {
            const int unit = pl_thread_pool_place(exchange->pool, number - 1, &work);
            if (unit >= 0 && unit != bound && pl_units_bind(unit))
                bound = unit;
        }
        pl_work_do(work, exchange->kernel, exchange->units);
    }
}
#else
const bool pl_openmp_is_built = false;

static void compute(const struct pl_exchange *exchange)
{
    (void)exchange; /* pl_threads_refused has refused the plan */
}
#endif

static int64_t active(const struct pl_exchange *exchange)
{
    pl_await(exchange, PL_TAG_READY);
    int64_t begin = exchange->clock->now_ns();
    if (exchange->part == PL_PART_COMMUNICATION) {
        pl_send(exchange, exchange->out, exchange->peer);
    } else {
        pl_isend(exchange, exchange->out, exchange->peer, exchange->pending);
        compute(exchange);
        pl_wait(exchange, exchange->pending, exchange->requests);
    }
    pl_await(exchange, PL_TAG_DONE);
    return exchange->clock->now_ns() - begin;
}

static void passive(const struct pl_exchange *exchange)
{
    pl_receive_beside(exchange, false);
    pl_signal(exchange, PL_TAG_DONE);
}

/* The passive side sleeps in one call until the region of the other is over. */
static int64_t computation(const struct pl_exchange *exchange)
{
    if (exchange->rank > 0) {
        pl_await(exchange, PL_TAG_DONE);
        return 0;
    }
    int64_t begin = exchange->clock->now_ns();
    compute(exchange);
    int64_t ns = exchange->clock->now_ns() - begin;
    pl_signal(exchange, PL_TAG_DONE);
    return ns;
}

const struct pl_bench pl_overlap_openmp = {
    .name = "openmp",
    .summary = "as sender, the computation is a parallel region of OpenMP",
    .latencies = 1,
    .halves = 1,
    .to_passive = true,
    .level = MPI_THREAD_FUNNELED,
    .threads = true,
    .active = active,
    .passive = passive,
    .computation = computation,
};
