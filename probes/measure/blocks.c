#include "measure/blocks.h"

#include "measure/random.h"
#include "measure/series.h"

#include <stdlib.h>
#include <string.h>

void pl_block_order(uint64_t seed, int block, const int *cases, int count, int *order)
{
    struct pl_random random = pl_random_stream(seed, UINT64_MAX, (uint64_t)block);
    memcpy(order, cases, (size_t)count * sizeof *order);
    pl_random_shuffle(&random, order, count);
}

/* One case in one block. False (on rank 0) when a call failed. */
static bool time_case(struct pl_timing *timing, struct pl_series *series, int block,
                      const struct pl_case *c)
{
    const struct pl_plan *plan = timing->plan;

    pl_series_begin(series, c);
    /* Counters of kernel and processor are read here … */
    pl_series_run(series, block == 0 ? plan->warmup : plan->rewarm, c->reps);
    /* … and here; a stopping rule asks for more repetitions here. */
    if (timing->world->rank > 0 || series->failures > 0)
        return timing->world->rank > 0;
    for (int i = 0; i < series->warmup + series->count; i++)
        timing->timed_ns += series->ns[i];
    pl_record_samples(timing->record, c->id, block, series);
    return true;
}

static int64_t longest_series(const struct pl_plan *plan)
{
    int longest = 0;
    for (int i = 0; i < plan->case_count; i++)
        if (plan->cases[i].reps > longest)
            longest = plan->cases[i].reps;
    return (int64_t)longest + (plan->warmup > plan->rewarm ? plan->warmup : plan->rewarm);
}

const char *pl_blocks_run(struct pl_timing *timing)
{
    const struct pl_plan *plan = timing->plan;
    const char *failure = NULL;
    int *order = calloc((size_t)timing->case_count + 1, sizeof *order);
    struct pl_series series = {.plan = plan,
                               .configs = timing->configs,
                               .world = timing->world,
                               .buffers = timing->buffers,
                               .delay = timing->delay,
                               .start = {.scheme = plan->sync,
                                         .world = timing->world,
                                         .clock = plan->clock,
                                         .global = timing->global,
                                         .crowded = timing->crowded}};

    bool room = pl_series_open(&series, longest_series(plan));
    if (pl_p2p_agree(timing->world, !room || !order))
        failure = "out of memory for the samples; ask for fewer repetitions";
    for (int block = 0; block < plan->blocks && !failure; block++) {
        pl_block_order(plan->seed, block, timing->cases, timing->case_count, order);
        pl_record_order(timing->record, block, plan, order, timing->case_count);
        for (int i = 0; i < timing->case_count; i++)
            if (!time_case(timing, &series, block, &plan->cases[order[i]]) && !failure)
                failure = "an MPI call returned an error in the timed region of a case that had "
                          "passed its check";
        if (timing->record->error)
            failure = "the record could not be written";
        int stop = failure != NULL;
        pl_p2p_broadcast(timing->world, &stop, (int)sizeof stop);
        if (stop && !failure)
            failure = "rank 0 stopped";
    }
    pl_series_close(&series);
    free(order);
    return failure;
}
