/* The loops: what the common benchmark programs do around a call, and two stricter ones.
 *
 * osu           each call timed, MPI_Barrier after it outside the timing; mean over iterations,
 * then over ranks (the programs of OSU Micro-Benchmarks) imb           two barriers, then the same;
 * the largest of the ranks' means (Intel MPI Benchmarks since 2019 with -sync on, column t_max)
 * stream        two barriers, then one timer around all calls; the largest of the ranks' means
 *               (Intel MPI Benchmarks before 2019, and since with -sync off)
 * barrier       MPI_Barrier before each call; the largest of the ranks' times, median over
 * iterations synchronised  all ranks wait for a moment that they agreed on; from the first start to
 * the last end, median over iterations */
#include "loops/loops.h"

#include <sched.h>
#include <stdlib.h>
#include <time.h>

static int nprocs_of_world(void)
{
    int nprocs;
    MPI_Comm_size(MPI_COMM_WORLD, &nprocs);
    return nprocs;
}

/* Mean, least and largest of what the ranks say; the same on all of them. */
static struct pl_loop_times over_ranks(double seconds, int iterations)
{
    struct pl_loop_times times = {.iterations = iterations};
    MPI_Allreduce(&seconds, &times.value, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(&seconds, &times.least, 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
    MPI_Allreduce(&seconds, &times.most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    times.value /= nprocs_of_world();
    return times;
}

static int compare(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static struct pl_loop_times over_iterations(double *seconds, int count)
{
    if (count == 0)
        return (struct pl_loop_times){.why = "no iteration was started together"};
    qsort(seconds, (size_t)count, sizeof *seconds, compare);
    double median = (seconds[(count - 1) / 2] + seconds[count / 2]) / 2;
    return (struct pl_loop_times){median, seconds[0], seconds[count - 1], count, NULL};
}

/* As many iterations as were asked for, or as the budget allows after a warm-up that began then; at
 * least ten. The same on all ranks. */
static int affordable(const struct pl_loop_plan *plan, double warmup_begin)
{
    double each = (MPI_Wtime() - warmup_begin) / (plan->warmup > 0 ? plan->warmup : 1);
    if (plan->warmup == 0 || plan->budget <= 0 || plan->iterations <= 10)
        return plan->iterations;
    MPI_Allreduce(MPI_IN_PLACE, &each, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    if (each * plan->iterations <= plan->budget)
        return plan->iterations;
    return each * 10 >= plan->budget ? 10 : (int)(plan->budget / each);
}

/* The mean of this rank over `iterations` calls, a barrier after each. */
static double each_timed(int iterations, const struct pl_loop_case *c,
                         const struct pl_loop_call *call)
{
    double total = 0;
    for (int i = 0; i < iterations; i++) {
        double begin = MPI_Wtime();
        pl_loop_make(c, call);
        total += MPI_Wtime() - begin;
        MPI_Barrier(MPI_COMM_WORLD);
    }
    return iterations > 0 ? total / iterations : 0;
}

static struct pl_loop_times osu(const struct pl_loop_plan *plan, const struct pl_loop_case *c,
                                const struct pl_loop_call *call)
{
    double begin = MPI_Wtime();
    MPI_Barrier(MPI_COMM_WORLD);
    each_timed(plan->warmup, c, call);
    const int iterations = affordable(plan, begin);
    return over_ranks(each_timed(iterations, c, call), iterations);
}

static struct pl_loop_times imb(const struct pl_loop_plan *plan, const struct pl_loop_case *c,
                                const struct pl_loop_call *call)
{
    double begin = MPI_Wtime();
    each_timed(plan->warmup, c, call);
    const int iterations = affordable(plan, begin);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    struct pl_loop_times times = over_ranks(each_timed(iterations, c, call), iterations);
    times.value = times.most;
    return times;
}

static struct pl_loop_times stream(const struct pl_loop_plan *plan, const struct pl_loop_case *c,
                                   const struct pl_loop_call *call)
{
    double begin = MPI_Wtime();
    for (int i = 0; i < plan->warmup; i++)
        pl_loop_make(c, call);
    const int iterations = affordable(plan, begin);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    begin = MPI_Wtime();
    for (int i = 0; i < iterations; i++)
        pl_loop_make(c, call);
    double seconds = (MPI_Wtime() - begin) / iterations;
    struct pl_loop_times times = over_ranks(seconds, iterations);
    times.value = times.most;
    return times;
}

static struct pl_loop_times barrier(const struct pl_loop_plan *plan, const struct pl_loop_case *c,
                                    const struct pl_loop_call *call)
{
    double *seconds = calloc((size_t)plan->iterations, sizeof *seconds);
    if (!seconds)
        MPI_Abort(MPI_COMM_WORLD, 1);
    int iterations = plan->iterations;
    double warmup_begin = MPI_Wtime();
    for (int i = -plan->warmup; i < iterations; i++) {
        if (i == 0)
            iterations = affordable(plan, warmup_begin);
        MPI_Barrier(MPI_COMM_WORLD);
        double begin = MPI_Wtime();
        pl_loop_make(c, call);
        double end = MPI_Wtime();
        if (i >= 0)
            seconds[i] = end - begin;
    }
    MPI_Allreduce(MPI_IN_PLACE, seconds, iterations, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    struct pl_loop_times times = over_iterations(seconds, iterations);
    free(seconds);
    return times;
}

static double monotonic(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* More ranks than processing units: who waits must let others run. */
static bool crowded(int ranks_here)
{
    cpu_set_t units;
    return sched_getaffinity(0, sizeof units, &units) != 0 || CPU_COUNT(&units) < ranks_here;
}

/* A clock that all ranks read alike: that of the one node, or an MPI_Wtime that is global. */
static double (*shared_clock(bool *yields))(void)
{
    MPI_Comm node;
    int here, *global, found, fits;

    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_size(node, &here);
    MPI_Comm_free(&node);
    *yields = crowded(here);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_WTIME_IS_GLOBAL, &global, &found);
    fits = here == nprocs_of_world() ? 2 : found && *global ? 1 : 0;
    MPI_Allreduce(MPI_IN_PLACE, &fits, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    return fits == 2 ? monotonic : fits == 1 ? MPI_Wtime : NULL;
}

/* Waits until `window` from now, by rank 0's word; says whether this rank heard it too late. */
static bool meet(double (*now)(void), bool yields, double window, double *begin)
{
    double start = now() + window;
    MPI_Bcast(&start, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    bool late = now() > start;
    while (now() < start)
        if (yields)
            sched_yield();
    *begin = now();
    return late;
}

static struct pl_loop_times synchronised(const struct pl_loop_plan *plan,
                                         const struct pl_loop_case *c,
                                         const struct pl_loop_call *call)
{
    const double longest = 0.01;
    double window = 50e-6;
    bool yields;
    double (*now)(void) = shared_clock(&yields);
    if (!now)
        return (struct pl_loop_times){.why = "the ranks share no clock"};
    double *seconds = calloc((size_t)plan->iterations, sizeof *seconds);
    if (!seconds)
        MPI_Abort(MPI_COMM_WORLD, 1);

    int done = 0, iterations = plan->iterations;
    double warmup_begin = MPI_Wtime();
    for (int i = -plan->warmup; done < iterations && i < 4 * iterations; i++) {
        if (i == 0)
            iterations = affordable(plan, warmup_begin);
        double facts[3], begin; /* largest of: -begin, end, late */
        MPI_Barrier(MPI_COMM_WORLD);
        facts[2] = meet(now, yields, window, &begin);
        pl_loop_make(c, call);
        facts[1] = now();
        facts[0] = -begin;
        MPI_Allreduce(MPI_IN_PLACE, facts, 3, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        if (facts[2] > 0)
            window = window < longest ? 1.5 * window : longest;
        else if (i >= 0)
            seconds[done++] = facts[1] + facts[0];
    }
    struct pl_loop_times times = over_iterations(seconds, done);
    free(seconds);
    return times;
}

const struct pl_loop pl_loops[] = {
    {"osu", "each call timed, a barrier after it; mean over iterations and ranks", osu},
    {"imb", "two barriers, then the same; the largest of the ranks' means", imb},
    {"stream", "one timer around all calls; the largest of the ranks' means", stream},
    {"barrier", "a barrier before each call; the largest time, median", barrier},
    {"synchronised", "an agreed moment; first start to last end, median", synchronised},
};
const int pl_loop_count = sizeof pl_loops / sizeof *pl_loops;
