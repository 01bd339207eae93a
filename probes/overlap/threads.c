#include "overlap/threads.h"

#include "overlap/bench.h"

#include <stdlib.h>

enum { LEAST_AREA = 8 << 20 }; /* of a thread: more than a core has of cache to itself */

static int most_threads(const struct pl_plan *plan)
{
    int most = 0;
    for (int i = 0; i < plan->overlap_count; i++)
        most = plan->overlaps[i].threads > most ? plan->overlaps[i].threads : most;
    return most;
}

/* The first line with a helper; NULL: none. */
static const struct pl_overlap *helped(const struct pl_plan *plan)
{
    for (int i = 0; i < plan->overlap_count; i++)
        if (plan->overlaps[i].helper)
            return &plan->overlaps[i];
    return NULL;
}

static int level(const struct pl_plan *plan)
{
    int most = helped(plan) ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE;
    for (int i = 0; i < plan->overlap_count; i++)
        most = plan->overlaps[i].bench->level > most ? plan->overlaps[i].bench->level : most;
    return most;
}

static bool plays(const struct pl_plan *plan, const struct pl_world *world)
{
    return plan->overlaps[0].bench->players != PL_PAIR || world->rank == 0 ||
           world->rank == world->size - 1;
}

const char *pl_threads_refused(const struct pl_plan *plan, const struct pl_world *world)
{
    const int needed = level(plan);
    const bool multiple = needed > MPI_THREAD_FUNNELED;
    if (plan->overlap_count == 0)
        return NULL;
    for (int i = 0; i < plan->overlap_count; i++)
        if (plan->overlaps[i].bench == &pl_overlap_openmp && !pl_openmp_is_built)
            return "the benchmark openmp: the compiler of this probe knows no OpenMP; leave it out";
    if (pl_p2p_agree(world, world->threads < needed)) {
        if (world->threads_asked < needed)
            return multiple ? "the benchmark multiple and helper=1 need MPI_THREAD_MULTIPLE; start "
                              "the launch with PLUMBLINE_THREADS=multiple in its environment"
                            : "the benchmarks load and openmp need MPI_THREAD_FUNNELED; start the "
                              "launch with "
                              "PLUMBLINE_THREADS=funneled in its environment";
        return multiple ? "this library does not provide MPI_THREAD_MULTIPLE, which the benchmark "
                          "multiple and helper=1 need; leave them out"
                        : "this library does not provide MPI_THREAD_FUNNELED, which the benchmarks "
                          "load and openmp need; leave them out";
    }
    if (!helped(plan) || !helped(plan)->spare)
        return NULL;
    struct pl_cores cores;
    bool good = pl_cores_find(&cores, world, plays(plan, world));
    bool missing = good && plays(plan, world) && pl_cores_spare(&cores) < 0;
    pl_cores_close(&cores);
    if (!good)
        return "the kernel does not say where ranks may run";
    return pl_p2p_agree(world, missing)
               ? "spare=1: a host has too few processing units that no rank is bound to, one for "
                 "each helper; bind ranks to cores, start fewer, or take helper=1 alone"
               : NULL;
}

/* On a rank that plays. */
static bool start_pools(struct pl_threads *threads, const struct pl_plan *plan,
                        const struct pl_work *work)
{
    const int count = most_threads(plan);
    const size_t share = work->words * sizeof *work->area / (size_t)(count > 0 ? count : 1);
    const struct pl_overlap *cell = helped(plan);
    int *units = calloc((size_t)count + 1, sizeof *units);
    bool good = units;
    for (int i = 0; good && i < count; i++)
        units[i] = pl_cores_of_thread(&threads->cores, i);
    if (good && count > 0) {
        threads->pool =
            pl_thread_pool_open(count, units, work, share > LEAST_AREA ? share : LEAST_AREA);
        good = threads->pool;
    }
    if (good && cell) {
        const struct pl_work nothing = {0};
        units[0] = cell->spare ? pl_cores_spare(&threads->cores) : -1;
        threads->helper = pl_thread_pool_open(1, units, &nothing, 0);
        good = threads->helper;
    }
    free(units);
    return good;
}

const char *pl_threads_open(struct pl_threads *threads, const struct pl_plan *plan,
                            const struct pl_world *world, bool awake, const struct pl_work *work)
{
    *threads = (struct pl_threads){.aside = MPI_COMM_NULL};
    if (most_threads(plan) == 0 && !helped(plan))
        return NULL;
    if (!pl_cores_find(&threads->cores, world, awake))
        return "the kernel does not say where ranks may run";
    bool good = !awake || start_pools(threads, plan, work);
    if (pl_p2p_agree(world, !good))
        return "threads cannot be started, or not bound to processing units; ask for fewer";
    PMPI_Comm_dup(world->comm, &threads->aside);
    return NULL;
}

void pl_threads_close(struct pl_threads *threads)
{
    pl_thread_pool_close(threads->helper);
    pl_thread_pool_close(threads->pool);
    pl_cores_close(&threads->cores);
    if (threads->aside != MPI_COMM_NULL)
        PMPI_Comm_free(&threads->aside);
}

static void ask(const void *of, int member, struct pl_work *work)
{
    const struct pl_threads *threads = of;
    int found;
    (void)member, (void)work;
    while (!pl_thread_pool_stopped(threads->helper))
        PMPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, threads->aside, &found, MPI_STATUS_IGNORE);
}

void pl_threads_help(const struct pl_threads *threads)
{
    pl_thread_pool_start(threads->helper, 1, ask, threads);
}

void pl_threads_rest(const struct pl_threads *threads)
{
    pl_thread_pool_stop(threads->helper);
}
