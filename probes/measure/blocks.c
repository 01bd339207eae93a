/* Between the two reads of the timer there is the call, a planted delay, and nothing else. Samples
 * leave their rank once a case and block, in one message, after the last repetition. */
#include "measure/blocks.h"

#include "measure/random.h"

#include <stdlib.h>
#include <string.h>

void pl_block_order(uint64_t seed, int block, const int *cases, int count, int *order)
{
    struct pl_random random = pl_random_stream(seed, UINT64_MAX, (uint64_t)block);
    memcpy(order, cases, (size_t)count * sizeof *order);
    pl_random_shuffle(&random, order, count);
}

/* `count` repetitions; returns how many calls failed. */
static int repeat(const struct pl_timing *timing, const struct pl_case *c,
                  const struct pl_call *call, int count, int64_t *ns)
{
    int64_t (*const now_ns)(void) = timing->plan->clock->now_ns;
    int (*const start)(MPI_Comm) = timing->plan->sync->start;
    int (*const run)(const struct pl_call *) = c->run;
    MPI_Comm sync = timing->world->sync;
    const int64_t wait = pl_delay_rounds(&timing->delay, c->delay_ns);
    int failures = 0;

    for (int i = 0; i < count; i++) {
        start(sync);
        int64_t begin = now_ns();
        int rc = run(call);
        pl_delay_wait(wait);
        ns[i] = now_ns() - begin;
        failures += rc != MPI_SUCCESS;
    }
    /* With fewer cores than ranks, what a rank does next takes a core from those still in the call.
     */
    PMPI_Barrier(sync);
    return failures;
}

/* One case in one block. False (on rank 0) when a call failed. */
static bool time_case(struct pl_timing *timing, int block, const struct pl_case *c, int64_t *ns)
{
    const struct pl_plan *plan = timing->plan;
    int warmup = block == 0 ? plan->warmup : plan->rewarm;
    int count = warmup + c->reps;
    struct pl_arguments arguments;

    pl_arguments_set(&arguments, c, timing->world, timing->buffers,
                     timing->configs[c->config].comm);
    pl_arguments_fill(&arguments, c, timing->world, plan->seed);
    ns[count] = repeat(timing, c, &arguments.call, count, ns);
    pl_p2p_maximum(timing->world, ns, count + 1);
    if (timing->world->rank > 0 || ns[count] > 0)
        return timing->world->rank > 0;
    for (int i = 0; i < count; i++)
        timing->timed_ns += ns[i];
    pl_record_samples(timing->record, c->id, block, ns, warmup, c->reps);
    return true;
}

static size_t longest_series(const struct pl_plan *plan)
{
    size_t warmup = (size_t)(plan->warmup > plan->rewarm ? plan->warmup : plan->rewarm);
    size_t longest = 0;
    for (int i = 0; i < plan->case_count; i++)
        if (warmup + (size_t)plan->cases[i].reps > longest)
            longest = warmup + (size_t)plan->cases[i].reps;
    return longest;
}

const char *pl_blocks_run(struct pl_timing *timing)
{
    const struct pl_plan *plan = timing->plan;
    const char *failure = NULL;
    int64_t *ns = calloc(longest_series(plan) + 1, sizeof *ns); /* and the number of failures */
    int *order = calloc((size_t)timing->case_count + 1, sizeof *order);

    if (pl_p2p_agree(timing->world, !ns || !order))
        failure = "out of memory for the samples; ask for fewer repetitions";
    for (int block = 0; block < plan->blocks && !failure; block++) {
        pl_block_order(plan->seed, block, timing->cases, timing->case_count, order);
        pl_record_order(timing->record, block, plan, order, timing->case_count);
        for (int i = 0; i < timing->case_count; i++)
            if (!time_case(timing, block, &plan->cases[order[i]], ns) && !failure)
                failure = "an MPI call returned an error in the timed region of a case that had "
                          "passed its check";
        if (timing->record->error)
            failure = "the record could not be written";
        int stop = failure != NULL;
        pl_p2p_broadcast(timing->world, &stop, (int)sizeof stop);
        if (stop && !failure)
            failure = "rank 0 stopped";
    }
    free(ns);
    free(order);
    return failure;
}
