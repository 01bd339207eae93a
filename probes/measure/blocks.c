#include "measure/blocks.h"

#include "measure/checks.h"
#include "measure/clocks.h"
#include "measure/forms.h"
#include "measure/random.h"
#include "measure/rounds.h"
#include "measure/series.h"
#include "measure/settle.h"

#include <stdlib.h>
#include <string.h>

void pl_block_order(uint64_t seed, int block, const int *cases, int count, int *order)
{
    struct pl_random random = pl_random_stream(seed, UINT64_MAX, (uint64_t)block);
    memcpy(order, cases, (size_t)count * sizeof *order);
    pl_random_shuffle(&random, order, count);
}

/* One case in one block, on the ranks of its group. False (on rank 0) when a call failed. */
static bool time_case(struct pl_timing *timing, struct pl_series *series, struct pl_rounds *rounds,
                      int block, int index)
{
    const struct pl_plan *plan = timing->plan;
    const struct pl_case *c = &plan->cases[index];
    const struct pl_world *world = series->world;
    const struct pl_config_state *config = &timing->configs[c->config];
    pl_record_under_way(timing->record, block, c->id);
    int reps = pl_rounds_next(rounds, index);
    int64_t began_ns = pl_world_elapsed_ns(timing->world);

    pl_config_enter(config);
    pl_series_begin(series, c, block);
    series->budget_ns -= pl_rounds_spent(rounds, index);
    if (block == 0 && plan->settle > plan->warmup && !series->way.stream)
        pl_series_settle(series, plan->warmup, reps);
    else
        pl_series_run(series, block == 0 ? plan->warmup : plan->rewarm, reps);
    pl_counters_next(timing->counters, world);
    pl_series_end(series);
    pl_persistent_end();
    pl_config_leave(config);
    if (world->rank == 0 && series->failures > 0)
        return false;
    pl_rounds_add(rounds, index, reps, series, pl_world_elapsed_ns(timing->world) - began_ns);
    if (world->rank > 0)
        return true;
    timing->spent.timed_ns += series->timed_ns;
    for (int i = 0; i < series->warmup; i++)
        timing->spent.warmup_ns += series->ns[i];
    if (series->ranks_ns)
        pl_record_rank_samples(timing->record, c->id, block, series);
    return true;
}

/* Before its samples a series has calls to warm up, or the next ones that a case settles by. */
static int64_t longest_series(const struct pl_plan *plan)
{
    int before = plan->warmup > plan->rewarm ? plan->warmup : plan->rewarm;
    if (plan->settle > 0 && before < PL_SETTLE_GROUP)
        before = PL_SETTLE_GROUP;
    return (int64_t)pl_rounds_longest(plan) + before;
}

/* A series for each group that this rank is in: start schemes keep what they know of its ranks. */
static bool open_series(const struct pl_timing *timing, struct pl_series *all)
{
    const struct pl_plan *plan = timing->plan;
    bool good = true;
    for (int i = 0; i < timing->groups->count; i++) {
        const struct pl_group *group = &timing->groups->group[i];
        all[i] = (struct pl_series){.plan = plan,
                                    .configs = timing->configs,
                                    .world = &group->world,
                                    .buffers = timing->buffers,
                                    .cache = timing->cache,
                                    .groups = timing->groups,
                                    .group = i,
                                    .delay = timing->delay};
        const struct pl_start common = {.world = &group->world,
                                        .clock = plan->clock,
                                        .global = &timing->global->model,
                                        .least_window_ns = plan->window_us * INT64_C(1000),
                                        .arrivals = &plan->arrivals,
                                        .seed = plan->seed,
                                        .crowded = timing->global->crowded};
        if (group->comm != MPI_COMM_NULL && !pl_series_open(&all[i], longest_series(plan), &common))
            good = false;
    }
    return good;
}

static void close_series(const struct pl_timing *timing, struct pl_series *all)
{
    for (int i = 0; all && i < timing->groups->count; i++)
        if (timing->groups->group[i].comm != MPI_COMM_NULL)
            pl_series_close(&all[i]);
    free(all);
}

/* Looks at some results between two blocks; what is wrong leaves the cases of the next one. */
static int look_between(struct pl_timing *timing, int block, int *cases, int count)
{
    int before = timing->case_count, left = 0;
    const int64_t began_ns = pl_world_elapsed_ns(timing->world);
    timing->case_count = pl_checks_between(timing, block, timing->cases, before);
    timing->spent.checks_ns += pl_world_elapsed_ns(timing->world) - began_ns;
    if (timing->case_count == before)
        return count;
    for (int i = 0; i < count; i++) {
        bool right = false;
        for (int j = 0; j < timing->case_count && !right; j++)
            right = timing->cases[j] == cases[i];
        if (right)
            cases[left++] = cases[i];
    }
    return left;
}

static const char short_of_memory[] = "out of memory for the samples; ask for fewer repetitions";

const char *pl_blocks_run(struct pl_timing *timing)
{
    const struct pl_plan *plan = timing->plan;
    const char *failure = NULL;
    size_t bytes = ((size_t)timing->case_count + 1) * sizeof(int);
    int *order = malloc(bytes), *cases = malloc(bytes);
    int left = timing->case_count; /* cases that take part in the next block */
    struct pl_rounds rounds;
    struct pl_series *series = calloc((size_t)timing->groups->count, sizeof *series);
    int64_t clock_error_ns = 0;

    bool room = !pl_p2p_agree(timing->world, !series);
    if (room)
        room = open_series(timing, series);
    room &= pl_rounds_open(&rounds, plan, timing->world, timing->record, timing->counters);
    if (pl_p2p_agree(timing->world, !room || !order || !cases))
        failure = short_of_memory;
    else
        memcpy(cases, timing->cases, (size_t)left * sizeof *cases);
    if (!failure && !pl_clocks_open(timing->global, plan, timing->record, &clock_error_ns))
        failure = short_of_memory;
    for (int block = 0; block < plan->blocks && !failure; block++) {
        pl_block_order(plan->seed, block, cases, left, order);
        pl_record_order(timing->record, block, plan, order, left);
        pl_counters_start(timing->counters);
        for (int i = 0; i < left; i++) {
            int group = pl_groups_of(timing->groups, &plan->cases[order[i]]);
            if (!pl_groups_enter(timing->groups, group))
                continue;
            if (!time_case(timing, &series[group], &rounds, block, order[i]) && !failure)
                failure = "an MPI call returned an error in the timed region of a case that had "
                          "passed its check";
            pl_groups_leave(timing->groups, group);
        }
        left = pl_rounds_settle(&rounds, cases, left);
        if (rounds.failed)
            failure = short_of_memory;
        if (timing->record->error)
            failure = "the record could not be written";
        int stop = failure != NULL;
        pl_p2p_broadcast(timing->world, &stop, (int)sizeof stop);
        if (stop && !failure)
            failure = "rank 0 stopped";
        if (plan->nrep.count > 0 && left == 0)
            break;
        if (!failure && block + 1 < plan->blocks)
            left = look_between(timing, block, cases, left);
    }
    pl_record_timed(timing->record);
    pl_rounds_record(&rounds);
    if (!failure && !pl_rounds_transits(&rounds, timing->cases, timing->case_count))
        failure = short_of_memory;
    if (!failure && !pl_clocks_close(timing->global, &rounds, timing->cases, timing->case_count,
                                     clock_error_ns))
        failure = short_of_memory;
    close_series(timing, series);
    pl_rounds_close(&rounds);
    free(order);
    free(cases);
    return failure;
}
