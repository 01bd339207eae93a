#include "measure/rounds.h"

#include "measure/settle.h"

#include <stdlib.h>
#include <string.h>

bool pl_rounds_open(struct pl_rounds *rounds, const struct pl_plan *plan,
                    const struct pl_world *world, struct pl_record *record,
                    const struct pl_counters *counters)
{
    *rounds =
        (struct pl_rounds){.plan = plan, .world = world, .record = record, .counters = counters};
    rounds->tallies = calloc((size_t)plan->case_count + 1, sizeof *rounds->tallies);
    return !pl_p2p_agree(world, !rounds->tallies);
}

void pl_rounds_close(struct pl_rounds *rounds)
{
    for (int i = 0; rounds->tallies && i < rounds->plan->case_count; i++) {
        free(rounds->tallies[i].warmup.ns);
        free(rounds->tallies[i].samples.ns);
        free(rounds->tallies[i].notes);
    }
    free(rounds->tallies);
    free(rounds->values);
    *rounds = (struct pl_rounds){0};
}

/* Whether a rule says how many samples a block has. */
static bool by_samples(const struct pl_plan *plan)
{
    return plan->nrep.count > 0 && !plan->nrep.in_blocks;
}

int pl_rounds_next(const struct pl_rounds *rounds, int index)
{
    return by_samples(rounds->plan)
               ? pl_nrep_next(&rounds->plan->nrep, rounds->tallies[index].taken)
               : rounds->plan->cases[index].reps;
}

int64_t pl_rounds_spent(const struct pl_rounds *rounds, int index)
{
    return by_samples(rounds->plan) ? rounds->tallies[index].spent_ns : 0;
}

/* Room for `count` more items of `size` bytes behind `*used` of them. */
static bool grow(void *items, int *room, int used, int count, size_t size)
{
    void **at = items;
    if (used + count <= *room)
        return true;
    int wanted = 2 * (used + count);
    void *larger = realloc(*at, (size_t)wanted * size);
    if (!larger)
        return false;
    *at = larger;
    *room = wanted;
    return true;
}

static bool keep(struct pl_times *times, const int64_t *ns, int count)
{
    if (!grow(&times->ns, &times->room, times->count, count, sizeof *ns))
        return false;
    memcpy(times->ns + times->count, ns, (size_t)count * sizeof *ns);
    times->count += count;
    return true;
}

static bool note(struct pl_tally *tally, const struct pl_series *series,
                 const struct pl_counters *counters)
{
    const struct pl_start *start = series->start;
    const int at = tally->blocks;
    if (!grow(&tally->notes, &tally->note_room, at, 1, sizeof *tally->notes))
        return false;
    struct pl_note *made = &tally->notes[at];
    *made = (struct pl_note){.block = start->block,
                             .warmups = series->warmup,
                             .samples = series->count,
                             .late = series->late,
                             .overrun = series->overrun,
                             .budget_spent = series->budget_spent,
                             .settled = series->settled};
    if (start->scheme->windows || start->scheme->arrivals)
        made->window_ns = start->window_ns;
    memcpy(made->counts, counters->values, sizeof made->counts);
    return keep(&tally->warmup, series->ns, series->warmup) &&
           keep(&tally->samples, series->ns + series->warmup, series->count);
}

static void record(struct pl_rounds *rounds, int index)
{
    struct pl_tally *tally = &rounds->tallies[index];
    if (rounds->world->rank == 0 && tally->blocks > 0 && !tally->recorded && !rounds->failed)
        pl_record_samples(rounds->record, rounds->plan->cases[index].id, tally, rounds->counters);
    tally->recorded = true;
}

void pl_rounds_add(struct pl_rounds *rounds, int index, int reps, const struct pl_series *series,
                   int64_t spent_ns)
{
    struct pl_tally *tally = &rounds->tallies[index];
    if (rounds->world->rank == 0 && !note(tally, series, rounds->counters))
        rounds->failed = true;
    tally->blocks++;
    tally->taken += reps;
    tally->spent_ns += spent_ns;
    tally->late += series->late;
    if (rounds->plan->nrep.count == 0 && series->start->block + 1 == rounds->plan->blocks)
        record(rounds, index);
}

void pl_rounds_record(struct pl_rounds *rounds)
{
    for (int i = 0; i < rounds->plan->case_count; i++)
        record(rounds, i);
}

static bool make_room(struct pl_rounds *rounds, int count)
{
    if (2 * count <= rounds->value_room)
        return true;
    free(rounds->values);
    rounds->value_room = 4 * count;
    rounds->values = malloc((size_t)rounds->value_room * sizeof *rounds->values);
    return rounds->values != NULL;
}

/* On rank 0: is the case at its end? If so, it is recorded. */
static bool ended(struct pl_rounds *rounds, int index)
{
    const struct pl_nrep_rule *rule = &rounds->plan->nrep;
    const struct pl_tally *tally = &rounds->tallies[index];
    const bool in_blocks = rule->in_blocks;
    int64_t budget_ns = in_blocks ? 0 : rounds->plan->budget_ms * 1000000;
    double values[PL_NREP_CONDITIONS];
    const char *by = NULL;

    if (!make_room(rounds, tally->samples.count)) {
        rounds->failed = true;
        return true;
    }
    const int block = in_blocks ? tally->samples.count / tally->blocks : rule->step;
    if (pl_nrep_met(rule, tally->samples.ns, tally->samples.count, block, values, rounds->values))
        by = "criteria";
    else if (in_blocks ? tally->blocks == rounds->plan->blocks : tally->taken >= rule->most)
        by = "maximum";
    else if (budget_ns > 0 && tally->spent_ns >= budget_ns)
        by = "budget";
    if (by)
        record(rounds, index);
    if (by)
        pl_record_nrep(rounds->record, rounds->plan->cases[index].id, tally->samples.count, by,
                       rule, values);
    return by != NULL;
}

int pl_rounds_settle(struct pl_rounds *rounds, int *cases, int count)
{
    int left = 0;
    if (rounds->plan->nrep.count == 0)
        return count;
    if (rounds->world->rank == 0)
        for (int i = 0; i < count; i++)
            if (!ended(rounds, cases[i]))
                cases[left++] = cases[i];
    pl_p2p_broadcast(rounds->world, &left, (int)sizeof left);
    pl_p2p_broadcast(rounds->world, cases, left * (int)sizeof *cases);
    return left;
}

/* Of a case with all its samples; 0 for others. */
static int transit(struct pl_rounds *rounds, int index)
{
    const struct pl_plan *plan = rounds->plan;
    const struct pl_tally *tally = &rounds->tallies[index];
    const int reps = plan->cases[index].reps;
    if (tally->samples.count == 0 || tally->samples.count != tally->blocks * reps)
        return 0;
    if (!make_room(rounds, tally->samples.count)) {
        rounds->failed = true;
        return 0;
    }
    return pl_settle_transit(tally->samples.ns, tally->blocks, reps, (void *)rounds->values);
}

static void record_transits(struct pl_rounds *rounds, const int *cases, int count)
{
    enum { FEW = 2 };
    int found = 0;
    for (int i = 0; i < count; i++)
        found += transit(rounds, cases[i]) > 0;
    if (found > FEW && 4 * found > count)
        return;
    for (int i = 0; i < count; i++) {
        int blocks = transit(rounds, cases[i]);
        if (blocks > 0)
            pl_record_transit(rounds->record, rounds->plan->cases[cases[i]].id, blocks);
    }
}

bool pl_rounds_transits(struct pl_rounds *rounds, const int *cases, int count)
{
    if (rounds->plan->settle == 0 || by_samples(rounds->plan))
        return true;
    if (rounds->world->rank == 0)
        record_transits(rounds, cases, count);
    pl_p2p_broadcast(rounds->world, &rounds->failed, (int)sizeof rounds->failed);
    return !rounds->failed;
}

int pl_rounds_longest(const struct pl_plan *plan)
{
    int longest = 0;
    if (by_samples(plan))
        return plan->nrep.least > plan->nrep.step ? plan->nrep.least : plan->nrep.step;
    for (int i = 0; i < plan->case_count; i++)
        if (plan->cases[i].reps > longest)
            longest = plan->cases[i].reps;
    return longest;
}
