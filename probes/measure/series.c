/* Between the two reads of the timer there is the call, a planted delay, and nothing else. Run
 * times are those of algorithm 1 of Hunold and Carpen-Amarie (Reproducible MPI Benchmarking is
 * Still Not as Easy as You Think, IEEE TPDS 27, 2016): of local times the largest (lines 9–11), on
 * the global clock from the first start to the last end (lines 13–17); a case's way of use may say
 * otherwise (use/use.h). */
#include "measure/series.h"

#include "measure/settle.h"
#include "pattern/pattern.h"
#include "simulated.h"
#include "use/use.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

static struct pl_start *start_of(const struct pl_series *series, const struct pl_sync *scheme)
{
    for (int i = 0; i < series->start_count; i++)
        if (series->starts[i].scheme == scheme)
            return &series->starts[i];
    return NULL;
}

/* The schemes that cases of the group start by, in the order of the plan, each once. */
static bool open_starts(struct pl_series *series, const struct pl_start *common)
{
    const struct pl_plan *plan = series->plan;
    bool good = true;
    for (int i = 0; i < plan->case_count && good; i++) {
        const struct pl_case *c = &plan->cases[i];
        const struct pl_sync *scheme = pl_way_of(plan, c).scheme;
        if (pl_groups_of(series->groups, c) != series->group || start_of(series, scheme))
            continue;
        struct pl_start *start = &series->starts[series->start_count++];
        *start = *common;
        start->scheme = scheme;
        if (scheme->open)
            good = scheme->open(start);
    }
    return good;
}

static bool any_by_rank(const struct pl_plan *plan)
{
    for (int i = 0; i < plan->case_count; i++)
        if (plan->cases[i].by_rank)
            return true;
    return false;
}

bool pl_series_open(struct pl_series *series, int64_t room, const struct pl_start *common)
{
    if (room > INT_MAX / 4) /* counts of messages are ints */
        return false;
    const struct pl_plan *plan = series->plan;
    if (plan->cycle > room)
        room = plan->cycle;
    size_t count = (size_t)room + 1, settle = (size_t)plan->settle;
    series->room = (int)room;
    const size_t ranks =
        series->world->rank == 0 && any_by_rank(plan) ? (size_t)series->world->size : 1;
    series->by_rank = calloc(ranks * count, sizeof *series->by_rank);
    series->begin_ns = calloc(count, sizeof *series->begin_ns);
    series->end_ns = calloc(count, sizeof *series->end_ns);
    series->ns = calloc(count + settle, sizeof *series->ns);
    series->seen = calloc(count + settle, sizeof *series->seen);
    series->values = calloc(3 * count, sizeof *series->values);
    series->validity = calloc(count, sizeof *series->validity);
    series->windows = calloc((size_t)plan->case_count + 1, sizeof *series->windows);
    series->starts = calloc((size_t)(pl_sync_count + pl_use_count), sizeof *series->starts);
    bool good = series->by_rank && series->begin_ns && series->end_ns && series->ns &&
                series->seen && series->values && series->validity && series->windows &&
                series->starts;
    if (pl_p2p_agree(series->world, !good) ||
        (plan->cycle && !pl_cycle_open(&series->cycle, series->world, plan->cycle)))
        return false;
    /* Zeroed memory may still be one page that nobody has touched. */
    memset(series->begin_ns, 1, count * sizeof *series->begin_ns);
    memset(series->end_ns, 1, count * sizeof *series->end_ns);
    memset(series->validity, 1, count * sizeof *series->validity);
    bool started = open_starts(series, common);
    return !pl_p2p_agree(series->world, !started);
}

void pl_series_close(struct pl_series *series)
{
    for (int i = 0; i < series->start_count; i++)
        if (series->starts[i].scheme->close)
            series->starts[i].scheme->close(&series->starts[i]);
    free(series->starts);
    free(series->begin_ns);
    free(series->end_ns);
    free(series->ns);
    free(series->seen);
    free(series->by_rank);
    pl_cycle_close(&series->cycle);
    free(series->values);
    free(series->validity);
    free(series->windows);
}

/* What an operation has made in a repetition, when its time is taken. */
static void give_back(const struct pl_case *c)
{
    if (c->operation && c->operation->after)
        c->operation->after();
}

/* About what a repetition takes: the lower quartile of some, each the largest of all ranks' times,
 * started by messages alone: others may have the cores for most of them. Equal on all ranks. */
static int64_t estimate(struct pl_series *series)
{
    enum { TRIALS = 5 };
    int64_t (*const now_ns)(void) = series->start->clock->now_ns;
    int64_t ns[TRIALS];
    for (int i = 0; i < TRIALS; i++) {
        pl_cache_prepare(series->cache, &series->arguments);
        pl_p2p_barrier(series->world);
        int64_t begin = now_ns();
        series->c->run(&series->arguments.call);
        pl_delay_wait(pl_delay_rounds(&series->delay, series->c->delay_ns));
        ns[i] = now_ns() - begin;
        give_back(series->c);
    }
    pl_p2p_maximum(series->world, ns, TRIALS);
    for (int i = 1; i < TRIALS; i++)
        for (int j = i; j > 0 && ns[j] < ns[j - 1]; j--) {
            int64_t larger = ns[j - 1];
            ns[j - 1] = ns[j];
            ns[j] = larger;
        }
    pl_p2p_broadcast(series->world, &ns[TRIALS / 4], (int)sizeof *ns);
    return ns[TRIALS / 4];
}

void pl_series_begin(struct pl_series *series, const struct pl_case *c, int block)
{
    const struct pl_way way = pl_way_of(series->plan, c);
    struct pl_start *start = start_of(series, way.scheme);
    int64_t *window_ns = &series->windows[c - series->plan->cases], about = 0;

    series->c = c;
    series->way = way;
    series->start = start;
    series->budget_ns = series->plan->budget_ms * 1000000;
    start->block = block;
    start->window_ns = *window_ns || !start->scheme->windows
                           ? *window_ns
                           : series->plan->window_us * INT64_C(1000);
    pl_arguments_set(&series->arguments, c, series->world, series->buffers,
                     series->configs[c->config].comms[series->group]);
    pl_arguments_refill(&series->arguments, c, series->world, series->buffers, series->plan->seed);
    series->unready = 0;
    if (c->operation && c->operation->begin)
        series->unready = c->operation->begin(&series->arguments.call) != MPI_SUCCESS;
    if ((start->scheme->windows || start->scheme->arrivals) && start->window_ns == 0)
        about = estimate(series);
    if (start->scheme->begin)
        start->scheme->begin(start, about);
}

void pl_series_end(struct pl_series *series)
{
    if (series->c->operation && series->c->operation->end)
        series->c->operation->end();
}

/* Repetitions until they repeat themselves; returns how many, and in `length` those of the cycle
 * that they end with (0: there is none among so many), the same on all ranks. When the ranks have
 * met for the next one, all know what the last one took: only then is it clear that there is no
 * next one. */
static int repeat_itself(struct pl_series *series, int *length)
{
    struct pl_start *const state = series->start;
    struct pl_cycle *const cycle = &series->cycle;
    int i = 0;

    pl_cycle_begin(cycle);
    for (;; i++) {
        pl_cache_prepare(series->cache, &series->arguments);
        state->scheme->start(state);
        *length = pl_cycle_found(cycle, i);
        if (*length > 0 || i == cycle->most)
            return i;
        series->begin_ns[i] = state->clock->now_ns();
        series->failures += series->c->run(&series->arguments.call) != MPI_SUCCESS;
        pl_delay_wait(pl_delay_rounds(&series->delay, series->c->delay_ns));
        series->end_ns[i] = state->clock->now_ns();
        give_back(series->c);
        pl_cycle_add(cycle, i, series->end_ns[i] - series->begin_ns[i]);
    }
}

/* The repetitions; returns how many fill the arrays, the same on all ranks. */
static int repeat(struct pl_series *series, int warmup, int count)
{
    struct pl_start *const state = series->start;
    const struct pl_call *const call = &series->arguments.call;
    int64_t (*const now_ns)(void) = state->clock->now_ns;
    bool (*const start)(struct pl_start *) = state->scheme->start;
    enum pl_validity (*const finish)(struct pl_start *, int64_t, int64_t) = state->scheme->finish;
    int (*const run)(const struct pl_call *) = series->c->run;
    const bool repeats = state->scheme->repeats;
    const int64_t wait = pl_delay_rounds(&series->delay, series->c->delay_ns);
    int i = 0;

    state->budget_end_ns = INT64_MAX;
    /* In place of a call to warm up: ranks leave one barrier more alike than they came to it. */
    if (PL_SIMULATED && warmup == 0 && !finish)
        start(state);
    while (i < count) {
        pl_cache_prepare(series->cache, &series->arguments);
        if (i == warmup && state->budget_end_ns == INT64_MAX)
            state->budget_end_ns = now_ns() + series->budget_ns;
        if (!start(state)) {
            series->budget_spent = true;
            break;
        }
        int64_t begin = now_ns();
        int rc = run(call);
        pl_delay_wait(wait);
        int64_t end = now_ns();

        give_back(series->c);
        series->begin_ns[i] = begin;
        series->end_ns[i] = end;
        series->failures += rc != MPI_SUCCESS;
        enum pl_validity validity = finish ? finish(state, begin, end) : PL_VALID;
        series->validity[i] = (unsigned char)validity;
        if (validity == PL_LATE && repeats && i >= warmup) {
            series->late++;
            continue;
        }
        i++;
    }
    /* With fewer cores than ranks, what a rank does next takes a core from those still in the call.
     */
    pl_p2p_barrier(series->world);
    return i;
}

/* The calls of a stream: one time fills the arrays. */
static int stream(struct pl_series *series, int warmup, int count)
{
    struct pl_start *start = series->start;
    const struct pl_call *call = &series->arguments.call;
    const int64_t wait = pl_delay_rounds(&series->delay, series->c->delay_ns);
    int64_t failures = 0;

    if (PL_SIMULATED && warmup == 0) /* as in repeat() */
        start->scheme->start(start);
    start->scheme->start(start);
    pl_stream_run(start->clock, series->c, call, wait, warmup, &failures);
    series->begin_ns[0] = 0;
    series->end_ns[0] = pl_stream_run(start->clock, series->c, call, wait, count, &failures);
    series->failures += failures > 0;
    pl_p2p_barrier(series->world);
    return 1;
}

/* All ranks' times, to rank 0, as maxima: the local times, or the starts (for the first one with
 * their sign turned) and the ends; then the validities; then the number of failures. For a mean as
 * sums, where no start scheme has validities; of the root's own time nobody else has any. */
static void exchange(struct pl_series *series, int count)
{
    const enum pl_span span = series->way.span;
    const bool global = pl_span_is_global(span), checked = series->start->scheme->finish != NULL;
    const struct pl_model *model = series->start->global;
    const int sign = span == PL_SPAN_FIRST_TO_LAST ? -1 : 1, ranks = series->world->size;
    int64_t *values = series->values, *last = values;

    const bool counts = span != PL_SPAN_ROOT || series->world->rank == series->c->root;
    for (int i = 0; i < count; i++)
        *last++ = !counts  ? 0
                  : global ? sign * pl_model_apply(model, series->begin_ns[i])
                           : series->end_ns[i] - series->begin_ns[i];
    for (int i = 0; i < count && global; i++)
        *last++ = pl_model_apply(model, series->end_ns[i]);
    const int64_t *validity = last;
    for (int i = 0; i < count && checked; i++)
        *last++ = series->validity[i];
    *last++ = series->failures + series->unready;
    if (span == PL_SPAN_MEAN)
        pl_p2p_sum(series->world, values, (int)(last - values));
    else
        pl_p2p_maximum(series->world, values, (int)(last - values));

    series->failures = (int)last[-1];
    for (int i = 0; i < count; i++) {
        series->ns[i] = global                 ? values[count + i] - sign * values[i]
                        : span == PL_SPAN_MEAN ? (values[i] + ranks / 2) / ranks
                                               : values[i];
        series->validity[i] = checked ? (unsigned char)validity[i] : (unsigned char)PL_VALID;
    }
}

/* Each rank's own times to rank 0, without those of late repetitions and of the first `warmup`. */
static void gather_ranks(struct pl_series *series, int warmup, int count)
{
    const int ranks = series->world->size;
    int64_t *const mine = series->values;
    int valid = 0;

    series->ranks_ns = NULL;
    if (!series->c->by_rank)
        return;
    if (series->start->scheme->finish) /* rank 0 knows of all ranks which are valid */
        pl_p2p_broadcast(series->world, series->validity, count);
    for (int i = warmup; i < count; i++)
        if (series->validity[i] != PL_LATE)
            mine[valid++] = series->end_ns[i] - series->begin_ns[i];
    pl_p2p_gather(series->world, mine, valid * (int)sizeof *mine, series->by_rank);
    if (series->world->rank > 0)
        return;
    for (int rank = ranks - 1; rank > 0; rank--) /* to where each has its room */
        memmove(series->by_rank + (size_t)rank * ((size_t)series->room + 1),
                series->by_rank + (size_t)rank * (size_t)valid, (size_t)valid * sizeof *mine);
    series->ranks_ns = series->by_rank;
}

/* What began late leaves; samples among it are counted, and those that overran. */
static void drop(struct pl_series *series, int warmup, int count)
{
    int kept = 0;
    series->warmup = 0;
    for (int i = 0; i < count; i++) {
        const bool late = series->validity[i] == PL_LATE;
        if (!late) {
            series->warmup += i < warmup;
            series->ns[kept++] = series->ns[i];
        }
        series->late += late && i >= warmup;
        series->overrun += series->validity[i] == PL_OVERRUN && i >= warmup;
    }
    series->count = kept - series->warmup;
}

/* The mean of the last `length` repetitions, behind all of them. */
static void average(struct pl_series *series, int length)
{
    int64_t sum = 0;
    for (int i = 1; i <= length; i++)
        sum += series->ns[series->count - i];
    series->warmup = series->count;
    series->ns[series->warmup] = (sum + length / 2) / length;
    series->count = 1;
}

void pl_series_run(struct pl_series *series, int warmup, int reps)
{
    const bool cycles = series->cycle.most && series->start->scheme->meets && !series->way.stream;
    int count, length = 0;

    series->late = series->overrun = series->failures = 0;
    series->budget_spent = false;
    if (cycles)
        count = repeat_itself(series, &length);
    else if (series->way.stream)
        count = stream(series, warmup, reps);
    else
        count = repeat(series, warmup, warmup + reps);
    if (series->start->scheme->end)
        series->start->scheme->end(series->start);
    exchange(series, count);
    if (series->way.stream || cycles)
        warmup = 0;
    gather_ranks(series, warmup < count ? warmup : count, count);
    drop(series, warmup < count ? warmup : count, count);
    series->timed_ns = 0;
    for (int i = 0; i < series->warmup + series->count; i++)
        series->timed_ns += series->ns[i];
    series->settled = !cycles || length > 0;
    if (series->way.stream)
        series->ns[0] = (series->ns[0] + reps / 2) / reps;
    else if (cycles)
        average(series, length ? length : (count + 1) / 2);
    series->windows[series->c - series->plan->cases] = series->start->window_ns;
}

void pl_series_settle(struct pl_series *series, int warmup, int reps)
{
    const int most = series->plan->settle;
    const int64_t until_ns = pl_world_elapsed_ns(series->world) + PL_SETTLE_NS;
    int64_t timed_ns = 0;
    int seen = 0, more;

    do {
        pl_series_run(series, warmup, reps);
        const int taken = series->warmup + series->count;
        timed_ns += series->timed_ns;
        if (series->world->rank == 0) {
            memcpy(series->seen + seen, series->ns, (size_t)taken * sizeof *series->ns);
            seen += taken;
            series->settled = !pl_settle_falls(series->seen, seen);
        }
        warmup = PL_SETTLE_GROUP;
        more = !series->settled && series->failures == 0 && !series->budget_spent && taken > 0 &&
               seen + warmup <= most && pl_world_elapsed_ns(series->world) < until_ns;
        pl_p2p_broadcast(series->world, &more, (int)sizeof more);
    } while (more);
    if (series->world->rank == 0) {
        memcpy(series->ns, series->seen, (size_t)seen * sizeof *series->ns);
        series->warmup = seen - series->count;
    }
    series->timed_ns = timed_ns;
}
