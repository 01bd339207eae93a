#include "measure/checks.h"

#include "fnv.h"
#include "measure/check.h"
#include "measure/random.h"
#include "measure/trial.h"
#include "simulated.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The calls that were right in earlier visits of this process, as keys, on rank 0 of each group of
 * ranks that has measured: an open hash table, 0 where nothing is. */
static struct {
    uint64_t *keys;
    size_t room, count; /* `room` is a power of two, or 0 */
} right;

void pl_checks_forget(void)
{
    free(right.keys);
    memset(&right, 0, sizeof right);
}

/* Where the key is or belongs. */
static uint64_t *place_of(uint64_t *keys, size_t room, uint64_t key)
{
    size_t at = key & (room - 1);
    while (keys[at] != 0 && keys[at] != key)
        at = (at + 1) & (room - 1);
    return &keys[at];
}

static bool was_right(uint64_t key)
{
    return right.room > 0 && *place_of(right.keys, right.room, key) == key;
}

/* Without memory the call is checked again. */
static void remember(uint64_t key)
{
    if (2 * (right.count + 1) > right.room) {
        const size_t room = right.room ? 2 * right.room : 1024;
        uint64_t *keys = calloc(room, sizeof *keys);
        if (!keys)
            return;
        for (size_t i = 0; i < right.room; i++)
            if (right.keys[i] != 0)
                *place_of(keys, room, right.keys[i]) = right.keys[i];
        free(right.keys);
        right.keys = keys;
        right.room = room;
    }
    uint64_t *place = place_of(right.keys, right.room, key);
    right.count += *place == 0;
    *place = key;
}

/* Of all that makes the call what it is among these ranks; never 0. */
static uint64_t key_of(const struct pl_timing *timing, const struct pl_case *c)
{
    const struct pl_config *config = &timing->plan->configs[c->config];
    const long long numbers[] = {timing->world->size,
                                 (long long)c->function,
                                 c->bytes,
                                 (long long)c->counts,
                                 c->type,
                                 c->op,
                                 c->root,
                                 c->ranks};
    const void *const kinds[] = {c->form, c->operation};
    uint64_t hash = pl_fnv(PL_FNV_BEGIN, numbers, sizeof numbers);
    hash = pl_fnv(hash, kinds, sizeof kinds);
    hash = pl_fnv(hash, c->variant_name, strlen(c->variant_name) + 1);
    for (int i = 0; i < config->knob_count; i++) {
        hash = pl_fnv(hash, config->knobs[i].name, strlen(config->knobs[i].name) + 1);
        hash = pl_fnv(hash, config->knobs[i].value, strlen(config->knobs[i].value) + 1);
    }
    return hash ? hash : 1;
}

/* The same call with the same data, whatever the way of use. */
static bool is_same_call(const struct pl_case *a, const struct pl_case *b)
{
    return a->function == b->function && a->operation == b->operation &&
           strcmp(a->variant_name, b->variant_name) == 0 && a->config == b->config &&
           a->bytes == b->bytes && a->type == b->type && a->op == b->op && a->root == b->root &&
           a->ranks == b->ranks && a->counts == b->counts;
}

/* A case among these that is the same call; -1: there is none. */
static int same_among(const struct pl_plan *plan, const struct pl_case *c, const int *cases,
                      int count)
{
    for (int i = count - 1; i >= 0; i--)
        if (is_same_call(&plan->cases[cases[i]], c))
            return cases[i];
    return -1;
}

/* One call, or all of a trial, on the ranks of the case. Collective over all ranks, which have the
 * same outcome. */
static enum pl_outcome look(const struct pl_timing *timing, const struct pl_case *c, uint64_t seed,
                            struct pl_finding *finding)
{
    const struct pl_config_state *config = &timing->configs[c->config];
    const struct pl_groups *groups = timing->groups;
    struct pl_buffers *buffers = timing->buffers;
    enum pl_outcome outcome = PL_OK;
    int index = pl_groups_of(groups, c);
    const struct pl_group *group = &groups->group[index];

    *finding = (struct pl_finding){""};
    buffers->sent.elements = 0;
    if (!pl_groups_enter(groups, index)) {
        buffers->referred = NULL; /* as for those who were there */
    } else {
        const struct pl_place place = {config, config->comms[index], group->comm, &group->world};
        if (!config->in_force) {
            snprintf(finding->detail, sizeof finding->detail, "%.300s", config->reason);
            outcome = PL_NOT_IN_FORCE;
        } else if (!c->empty) {
            outcome = c->calls ? pl_trial(timing, c, index, seed, finding)
                               : pl_check(c, &place, buffers, seed, finding);
        }
        pl_groups_leave(groups, index);
    }
    if (group->ranks > 0)
        pl_p2p_broadcast(groups->world, &outcome, (int)sizeof outcome);
    return outcome;
}

/* For each case whether it need not be called: rank 0 knows, and all ranks agree. NULL: none. */
static unsigned char *known_cases(const struct pl_timing *timing)
{
    const struct pl_plan *plan = timing->plan;
    unsigned char *known = calloc((size_t)plan->case_count + 1, 1);
    if (pl_p2p_agree(timing->world, !known)) {
        free(known);
        return NULL;
    }
    for (int i = 0; i < plan->case_count && timing->world->rank == 0; i++) {
        const struct pl_case *c = &plan->cases[i];
        known[i] = !c->calls && !c->messages && timing->configs[c->config].in_force &&
                   was_right(key_of(timing, c));
    }
    pl_p2p_broadcast(timing->world, known, plan->case_count);
    return known;
}

int pl_checks_before(struct pl_timing *timing, int *cases)
{
    const struct pl_plan *plan = timing->plan;
    unsigned char *known = known_cases(timing);
    int count = 0;
    for (int i = 0; i < plan->case_count; i++) {
        const struct pl_case *c = &plan->cases[i];
        struct pl_finding finding = {0};
        enum pl_outcome outcome = PL_OK;
        pl_record_begin(timing->record, c->id);
        if (c->calls || !((known && known[i]) || same_among(plan, c, cases, count) >= 0))
            outcome = look(timing, c, plan->seed, &finding);
        pl_record_check(timing->record, c->id, pl_outcome_name(outcome), finding.detail);
        if (outcome == PL_OK && c->calls == 0)
            cases[count++] = i;
        if (outcome == PL_OK && c->calls == 0 && timing->world->rank == 0)
            remember(key_of(timing, c));
    }
    free(known);
    return count;
}

/* After so many blocks: those among `one_in` that chance takes. Of cases that are the same call one
 * is looked at, and speaks for all. */
static int again(struct pl_timing *timing, int blocks, int one_in, int *cases, int count)
{
    const struct pl_plan *plan = timing->plan;
    struct pl_random random = pl_random_stream(plan->seed, UINT64_MAX - 1, (uint64_t)blocks);
    const uint64_t seed = pl_random_next(&random);
    struct pl_finding finding = {0};
    int left = 0; /* in front those that are right, behind them those that are wrong */

    if (PL_SIMULATED) /* a check takes as long as what is measured */
        return count;
    for (int i = 0; i < count; i++) {
        const int index = cases[i];
        const struct pl_case *c = &plan->cases[index];
        char detail[sizeof finding.detail];
        enum pl_outcome outcome = PL_OK;
        const int wrong = same_among(plan, c, cases + left, i - left);
        if (wrong >= 0) {
            outcome = PL_WRONG;
            snprintf(detail, sizeof detail, "as case %d, the same call", plan->cases[wrong].id);
            pl_record_begin(timing->record, c->id);
        } else if (same_among(plan, c, cases, left) < 0 &&
                   pl_random_below(&random, (uint64_t)one_in) == 0) {
            pl_record_begin(timing->record, c->id);
            outcome = look(timing, c, seed, &finding);
            snprintf(detail, sizeof detail, "after %d block%s: %.280s", blocks,
                     blocks == 1 ? "" : "s", finding.detail);
        } else {
            cases[i] = cases[left];
            cases[left++] = index;
            continue;
        }
        pl_record_check(timing->record, c->id, pl_outcome_name(outcome),
                        outcome == PL_OK ? "" : detail);
        if (outcome != PL_OK)
            pl_checks_forget();
        if (outcome == PL_OK) {
            cases[i] = cases[left];
            cases[left++] = index;
        }
    }
    return left;
}

int pl_checks_between(struct pl_timing *timing, int block, int *cases, int count)
{
    return again(timing, block + 1, timing->plan->blocks, cases, count);
}

int pl_checks_after(struct pl_timing *timing, int *cases, int count)
{
    return again(timing, timing->plan->blocks, 1, cases, count);
}
