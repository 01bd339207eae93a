/* Two loops (Hunold and Carpen-Amarie, TPDS 2016, Table 3). `each`, MS1: a timer around every call,
 * a barrier after it outside the timed region; OSU Micro-Benchmarks, and Intel MPI Benchmarks since
 * 2019 with their default `-sync on`. `series`, MS2: two barriers, then one timer around all calls;
 * Intel MPI Benchmarks 4.0, which that paper used, and mpptest. In both a tenth of the repetitions,
 * at least ten, goes ahead untimed, and what is reported is each rank's mean (PS3, PS6). */
#include "measure/plain.h"

#include "measure/forms.h"
#include "measure/rounds.h"
#include "use/use.h"

#include <stdlib.h>
#include <string.h>

static int64_t each(const struct pl_timing *timing, const struct pl_case *c,
                    const struct pl_call *call, int count, int64_t *failures)
{
    int64_t (*const now_ns)(void) = timing->plan->clock->now_ns;
    const int64_t wait = pl_delay_rounds(&timing->delay, c->delay_ns);
    int64_t total = 0;

    for (int i = 0; i < count; i++) {
        int64_t begin = now_ns();
        int rc = c->run(call);
        pl_delay_wait(wait);
        total += now_ns() - begin;
        *failures += rc != MPI_SUCCESS;
        PMPI_Barrier(timing->world->sync);
    }
    return total;
}

static int64_t series(const struct pl_timing *timing, const struct pl_case *c,
                      const struct pl_call *call, int count, int64_t *failures)
{
    const int64_t wait = pl_delay_rounds(&timing->delay, c->delay_ns);

    PMPI_Barrier(timing->world->sync);
    PMPI_Barrier(timing->world->sync);
    return pl_stream_run(timing->plan->clock, c, call, wait, count, failures);
}

static const struct pl_plain plain_each = {
    .name = "each",
    .summary = "each call timed, a barrier after it: OMB, IMB since 2019",
    .loop = each,
};

static const struct pl_plain plain_series = {
    .name = "series",
    .summary = "all calls timed as one, without barriers: IMB before 2019, mpptest",
    .loop = series,
};

const struct pl_plain *const pl_plains[] = {&plain_each, &plain_series};
const int pl_plain_count = sizeof pl_plains / sizeof *pl_plains;

/* One case; `means` has room for a value a rank. How many calls failed on all ranks. */
static int64_t time_case(struct pl_timing *timing, const struct pl_case *c, int64_t *means)
{
    const struct pl_plan *plan = timing->plan;
    const struct pl_world *world = timing->world;
    const struct pl_config_state *config = &timing->configs[c->config];
    int warmup = c->reps / 10 > 10 ? c->reps / 10 : 10;
    int64_t failures = 0;
    struct pl_arguments arguments;

    pl_arguments_set(&arguments, c, world, timing->buffers, config->comms[0]);
    pl_arguments_fill(&arguments, c, world, plan->seed);
    pl_config_enter(config);
    pl_counters_start(timing->counters);
    int64_t untimed = plan->plain->loop(timing, c, &arguments.call, warmup, &failures);
    int64_t total = plan->plain->loop(timing, c, &arguments.call, c->reps, &failures);
    pl_persistent_end();
    int64_t mean = (total + c->reps / 2) / c->reps;
    timing->spent.timed_ns += untimed + total;
    timing->spent.warmup_ns += untimed;
    pl_counters_next(timing->counters, world);
    pl_config_leave(config);
    PMPI_Barrier(world->sync);
    pl_p2p_gather(world, &mean, (int)sizeof mean, means);
    return pl_p2p_agree(world, failures);
}

/* On rank 0: a value a rank, as one block. */
static void record_means(const struct pl_timing *timing, const struct pl_case *c, int64_t *means)
{
    const int ranks = timing->world->size;
    struct pl_note note = {.samples = ranks, .settled = true};
    memcpy(note.counts, timing->counters->values, sizeof note.counts);
    const struct pl_tally tally = {
        .blocks = 1, .samples = {.count = ranks, .ns = means}, .notes = &note};
    pl_record_samples(timing->record, c->id, &tally, timing->counters);
}

const char *pl_plain_run(struct pl_timing *timing)
{
    const struct pl_plan *plan = timing->plan;
    const char *failure = NULL;
    int ranks = timing->world->size;
    int64_t *means = calloc((size_t)ranks, sizeof *means);

    if (pl_p2p_agree(timing->world, !means)) {
        free(means);
        return "out of memory for the samples";
    }
    pl_record_order(timing->record, 0, plan, timing->cases, timing->case_count);
    for (int i = 0; i < timing->case_count && !failure; i++) {
        const struct pl_case *c = &plan->cases[timing->cases[i]];
        pl_record_under_way(timing->record, 0, c->id);
        if (time_case(timing, c, means) > 0)
            failure = "an MPI call returned an error in the timed region of a case that had "
                      "passed its check";
        else if (timing->world->rank == 0)
            record_means(timing, c, means);
        if (pl_p2p_agree(timing->world, timing->record->error))
            failure = "the record could not be written";
    }
    free(means);
    return failure;
}
