#include "measure/rounds.h"

#include "measure/settle.h"

#include <stdlib.h>
#include <string.h>

bool pl_rounds_open(struct pl_rounds *rounds, const struct pl_plan *plan,
                    const struct pl_world *world, struct pl_record *record)
{
    *rounds = (struct pl_rounds){.plan = plan, .world = world, .record = record};
    rounds->tallies = calloc((size_t)plan->case_count + 1, sizeof *rounds->tallies);
    return !pl_p2p_agree(world, !rounds->tallies);
}

void pl_rounds_close(struct pl_rounds *rounds)
{
    for (int i = 0; rounds->tallies && i < rounds->plan->case_count; i++)
        free(rounds->tallies[i].ns);
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

static bool keep(struct pl_tally *tally, const int64_t *ns, int count)
{
    if (tally->count + count > tally->room) {
        size_t room = 2 * ((size_t)tally->count + (size_t)count);
        int64_t *larger = realloc(tally->ns, room * sizeof *larger);
        if (!larger)
            return false;
        tally->ns = larger;
        tally->room = (int)room;
    }
    memcpy(tally->ns + tally->count, ns, (size_t)count * sizeof *ns);
    tally->count += count;
    return true;
}

void pl_rounds_add(struct pl_rounds *rounds, int index, int reps, const struct pl_series *series,
                   int64_t spent_ns)
{
    struct pl_tally *tally = &rounds->tallies[index];
    tally->blocks++;
    tally->taken += reps;
    tally->spent_ns += spent_ns;
    tally->valid += series->count;
    tally->late += series->late;
    bool needed = rounds->plan->nrep.count > 0 || rounds->plan->settle > 0 ||
                  pl_case_is_global(rounds->plan, &rounds->plan->cases[index]);
    if (needed && rounds->world->rank == 0 &&
        !keep(tally, series->ns + series->warmup, series->count))
        rounds->failed = true;
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

    if (!make_room(rounds, tally->count)) {
        rounds->failed = true;
        return true;
    }
    const int block = in_blocks ? tally->count / tally->blocks : rule->step;
    if (pl_nrep_met(rule, tally->ns, tally->count, block, values, rounds->values))
        by = "criteria";
    else if (in_blocks ? tally->blocks == rounds->plan->blocks : tally->taken >= rule->most)
        by = "maximum";
    else if (budget_ns > 0 && tally->spent_ns >= budget_ns)
        by = "budget";
    if (by)
        pl_record_nrep(rounds->record, rounds->plan->cases[index].id, tally->count, by, rule,
                       values);
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
    if (tally->count == 0 || tally->count != tally->blocks * reps)
        return 0;
    if (!make_room(rounds, tally->count)) {
        rounds->failed = true;
        return 0;
    }
    return pl_settle_transit(tally->ns, tally->blocks, reps, (void *)rounds->values);
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
