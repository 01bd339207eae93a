#include "measure/clocks.h"

#include "ascending.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* What a domain's leader says of itself. */
struct face {
    struct pl_model model;
    char host[MPI_MAX_PROCESSOR_NAME];
};

static bool record_models(const struct pl_global *global, struct pl_record *record)
{
    const struct pl_world *world = global->world;
    struct face mine = {.model = global->model}, *all = NULL;
    int length;
    if (world->rank == 0)
        all = calloc((size_t)world->size, sizeof *all);
    if (pl_p2p_agree(world, world->rank == 0 && !all))
        return false;
    PMPI_Get_processor_name(mine.host, &length);
    pl_p2p_gather(world, &mine, (int)sizeof mine, all);
    for (int domain = 0; domain < pl_global_domains(global) && all; domain++) {
        int leader = pl_global_leader(global, domain);
        pl_record_clock_model(record, domain, all[leader].host, leader, &all[leader].model);
    }
    free(all);
    return true;
}

int64_t pl_clocks_error(const struct pl_global *global, struct pl_record *record, const char *when)
{
    const struct pl_world *world = global->world;
    int64_t largest = 0, since_ns = global->clock->now_ns() - global->learnt_ns;
    struct pl_global_error *errors = NULL;
    if (world->rank == 0)
        errors = calloc((size_t)world->size, sizeof *errors);
    if (pl_p2p_agree(world, world->rank == 0 && !errors))
        return -1;
    pl_global_check(global, errors);
    int domains = pl_global_domains(global);
    for (int domain = 0; domain < domains && errors; domain++) {
        errors[domain] = errors[pl_global_leader(global, domain)]; /* leaders ascend */
        if (errors[domain].error_ns > largest)
            largest = errors[domain].error_ns;
    }
    pl_record_clock_error(record, when, since_ns, errors, domains);
    free(errors);
    return largest;
}

bool pl_clocks_learn(struct pl_global *global, struct pl_record *record, int64_t *error_ns)
{
    pl_global_learn(global);
    pl_record_clock_sync(record, global->algorithm->name, pl_global_domains(global),
                         global->took_ns);
    if (!record_models(global, record))
        return false;
    *error_ns = pl_clocks_error(global, record, "start");
    return *error_ns >= 0;
}

bool pl_clocks_open(struct pl_global *global, const struct pl_plan *plan, struct pl_record *record,
                    int64_t *error_ns)
{
    *error_ns = 0;
    return !pl_plan_is_global(plan) || pl_clocks_learn(global, record, error_ns);
}

/* Why the samples of a case that needs the global clock are no results; false when they are. Starts
 * on the global clock put its error into local times too: who starts first waits for the others
 * inside the call. */
static bool refusal(const struct pl_plan *plan, struct pl_tally *tally, int64_t error_ns,
                    char *reason, size_t size)
{
    if (tally->samples.count == 0 && tally->late > 0) {
        snprintf(reason, size,
                 "no repetition was valid: %d were late; choose a longer window_us, "
                 "another clock_sync (hca3, jk), sync=roundtime with more budget_ms, fewer ranks "
                 "than cores, or a start after a barrier",
                 tally->late);
        return true;
    }
    if (tally->samples.count == 0)
        return false;
    qsort(tally->samples.ns, (size_t)tally->samples.count, sizeof *tally->samples.ns, pl_by_ns);
    int64_t median = tally->samples.ns[tally->samples.count / 2];
    if (median >= plan->clock_multiple * error_ns)
        return false;
    snprintf(reason, size,
             "too short for the global clock: median %" PRId64 " ns, below %d times its residual "
             "error of %" PRId64 " ns; use runtime=local with sync=barrier or dissemination, "
             "use=after_barrier or loop, or a smaller clock_multiple",
             median, plan->clock_multiple, error_ns);
    return true;
}

bool pl_clocks_close(const struct pl_global *global, struct pl_rounds *rounds, const int *cases,
                     int count, int64_t error_ns)
{
    char reason[256];
    if (!pl_plan_is_global(rounds->plan))
        return true;
    int64_t end_ns = pl_clocks_error(global, rounds->record, "end");
    for (int i = 0; i < count && global->world->rank == 0; i++) {
        const struct pl_case *c = &rounds->plan->cases[cases[i]];
        if (pl_case_is_global(rounds->plan, c) &&
            refusal(rounds->plan, &rounds->tallies[cases[i]], end_ns > error_ns ? end_ns : error_ns,
                    reason, sizeof reason))
            pl_record_refused(rounds->record, c->id, reason);
    }
    return end_ns >= 0;
}
