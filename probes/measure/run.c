/* The order of work of one plan (docs/design/plan-and-records.md). Whatever goes wrong on one rank
 * is agreed upon before anybody waits for it, so that all ranks end together. */
#include "measure/run.h"

#include "measure/blocks.h"
#include "measure/checks.h"
#include "measure/clocks.h"
#include "measure/file.h"
#include "measure/pingpong.h"
#include "measure/plain.h"
#include "measure/types.h"
#include "overlap/overlap.h"
#include "overlap/threads.h"
#include "pattern/pattern.h"
#include "simulated.h"
#include "system/facts.h"
#include "system/refuse.h"
#include "system/topology.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct launch {
    const struct pl_world *world;
    struct pl_plan plan;
    struct pl_record record;
    struct pl_groups groups;
    struct pl_config_state *configs;
    struct pl_buffers buffers;
    struct pl_clock_nodes nodes;
    struct pl_global global;
    struct pl_cache cache;
    struct pl_seat seat;
    struct pl_hosts hosts;
    struct pl_counters counters;
    struct pl_load load; /* when the header was written */
    int64_t trip_ns;     /* then */
};

static void say(const struct launch *launch, const char *what, const char *why)
{
    if (launch->world->rank == 0)
        fprintf(stderr, "probe: %s: %s\n", what, why);
}

/* Rank 0 reads, all ranks parse. */
static int open_plan(struct launch *launch, const char *path)
{
    const struct pl_world *world = launch->world;
    struct pl_plan_error error;
    char *text = NULL;
    size_t size = 0;
    int64_t head[2] = {0, 0}; /* errno, size */

    if (world->rank == 0) {
        head[0] = pl_file_read(path, &text, &size);
        head[1] = (int64_t)size;
    }
    pl_p2p_broadcast(world, head, (int)sizeof head);
    if (head[0] != 0) {
        say(launch, path, pl_file_reason((int)head[0]));
        return PL_EXIT_USAGE;
    }
    size = (size_t)head[1];
    if (world->rank > 0)
        text = malloc(size + 1);
    if (pl_p2p_agree(world, !text)) {
        say(launch, path, "out of memory");
        free(text);
        return PL_EXIT_FAILED;
    }
    pl_p2p_broadcast(world, text, (int)size);
    bool good = pl_plan_parse(&launch->plan, text, size, world->size, &error);
    /* What a processor lacks may be refused on some nodes only. */
    int64_t refused = pl_p2p_agree(world, good ? 0 : world->size - world->rank);
    if (refused == 0)
        return PL_EXIT_FINE;
    pl_p2p_fetch(world, world->size - (int)refused, &error, (int)sizeof error);
    if (world->rank == 0)
        pl_plan_complain(path, &error);
    return PL_EXIT_USAGE;
}

/* What lines of overlap want of the library and of the hosts. */
static int require_threads(const struct launch *launch, const char *path)
{
    const char *refused = pl_threads_refused(&launch->plan, launch->world);
    if (!refused)
        return PL_EXIT_FINE;
    say(launch, path, refused);
    return PL_EXIT_USAGE;
}

/* Before anything is timed. */
static int start_timers(struct launch *launch)
{
    const struct pl_plan *plan = &launch->plan;
    launch->global = (struct pl_global){.world = launch->world,
                                        .nodes = &launch->nodes,
                                        .clock = plan->clock,
                                        .algorithm = plan->clock_sync,
                                        .fit_ns = plan->clock_fit_ms * INT64_C(1000000),
                                        .model = PL_MODEL_IDENTITY};
    if (!pl_clock_nodes_find(&launch->nodes, launch->world)) {
        say(launch, "nodes", "out of memory");
        return PL_EXIT_FAILED;
    }
    if (!pl_global_start_timers(&launch->global)) {
        say(launch, plan->clock->name,
            "this timer does not start on some node; use clock=monotonic_raw");
        return PL_EXIT_FAILED;
    }
    return PL_EXIT_FINE;
}

static int open_record(struct launch *launch, const char *path, const char *plan_path)
{
    const char *unfit = launch->world->rank == 0 ? pl_file_unfit(path, plan_path) : NULL;
    if (pl_p2p_agree(launch->world, unfit != NULL)) {
        say(launch, path, unfit);
        return PL_EXIT_USAGE;
    }
    if (launch->world->rank == 0)
        pl_record_open(&launch->record, path);
    else
        pl_record_silent(&launch->record);
    if (!pl_p2p_agree(launch->world, launch->record.error))
        return PL_EXIT_FINE;
    say(launch, path, strerror(launch->record.error));
    pl_record_abandon(&launch->record);
    return PL_EXIT_FAILED;
}

/* What the header says of the surroundings, and what the load record will need. */
static bool look_around(struct launch *launch, const struct pl_placement *placement,
                        struct pl_factors *factors)
{
    struct pl_factor_context context = {&launch->counters};
    launch->trip_ns = pl_p2p_trip_ns(launch->world);
    pl_load_read(&launch->load);
    pl_counters_open(&launch->counters, launch->world);
    return pl_hosts_open(&launch->hosts, launch->world, placement) &&
           pl_factors_gather(factors, launch->world, &launch->hosts, &context);
}

/* Ping-pongs and cold caches ask for them, and nothing else does. NULL, or why they cannot be had.
 */
static const char *find_surroundings(struct pl_surroundings *around, const struct launch *launch)
{
    const struct pl_plan *plan = &launch->plan;
    *around = (struct pl_surroundings){.package = -1, .core = -1, .cache = -1, .numa = -1};
    return plan->pingpong_count > 0 || plan->cache != PL_CACHE_WARM
               ? pl_surroundings_find(around, launch->world, &launch->hosts)
               : NULL;
}

static int write_header(struct launch *launch)
{
    struct pl_placement placement;
    struct pl_factors factors = {0};
    struct pl_record_facts facts = {.nprocs = launch->world->size, .placement = &placement};
    int result = PL_EXIT_FAILED;

    if (pl_placement_gather(&placement, launch->world) &&
        look_around(launch, &placement, &factors)) {
        facts.factors = &factors;
        facts.processing_units = pl_processing_units();
        /* What every rank reads in turn, a simulator reads for all of them. */
        if (!PL_SIMULATED || launch->world->rank == 0)
            facts.clock = pl_clock_measure(launch->plan.clock);
        launch->global.crowded = placement.ppn > facts.processing_units;
        pl_p2p_broadcast(launch->world, &launch->global.crowded,
                         (int)sizeof launch->global.crowded);
        pl_p2p_broadcast(launch->world, &placement.ppn, (int)sizeof placement.ppn);
        struct pl_surroundings around;
        const char *unread = find_surroundings(&around, launch);
        pl_seat_read(&launch->seat, &around);
        const char *failure = unread ? unread
                                     : pl_cache_open(&launch->cache, &launch->plan, launch->world,
                                                     &around.caches, placement.ppn);
        if (failure) {
            say(launch, unread ? "hwloc" : "caches", failure);
        } else {
            facts.cache = &launch->cache;
            pl_record_header(&launch->record, &launch->plan, &facts);
            result = PL_EXIT_FINE;
        }
    } else {
        say(launch, "placement of ranks and factors", "out of memory");
    }
    pl_factors_free(&factors);
    pl_placement_free(&placement);
    return result;
}

/* SimGrid's MVAPICH2 gathers along a tree until another collective has looked for nodes and leaders
 * on the communicator, and without one from then on. Applications are past that. Looking takes
 * p (p - 1) messages: only where the launcher says that the library's choices depend on it. */
static void settle(MPI_Comm comm)
{
    int one = 1, sum;
    if (PL_SIMULATED && getenv("PLUMBLINE_SETTLE") && comm != MPI_COMM_NULL)
        PMPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
}

static int open_configs(struct launch *launch)
{
    const struct pl_plan *plan = &launch->plan;
    char library[MPI_MAX_LIBRARY_VERSION_STRING];
    pl_library_text(library);
    launch->configs = calloc((size_t)plan->config_count, sizeof *launch->configs);
    if (pl_p2p_agree(launch->world, !launch->configs) ||
        !pl_groups_open(&launch->groups, plan, launch->world) ||
        !pl_config_open_default(&launch->configs[PL_CONFIG_DEFAULT], &launch->groups)) {
        say(launch, "configs", "out of memory");
        return PL_EXIT_FAILED;
    }
    for (int i = 0; i < plan->config_count && !launch->world->tools; i++)
        if (plan->configs[i].knob_count > 0) {
            say(launch, plan->configs[i].id, "PLUMBLINE_MPI_T=none: no knob can be set");
            return PL_EXIT_USAGE;
        }
    struct pl_survey survey = {0};
    bool good = true;
    if (plan->knobs == PL_SWITCH_START && launch->world->rank == 0 && !pl_survey_open(&survey))
        say(launch, "knobs", "no process that reads control variables; they stay unproven");
    for (int i = PL_CONFIG_DEFAULT + 1; good && i < plan->config_count; i++) {
        struct pl_config_state *state = &launch->configs[i];
        good = pl_config_open(state, &launch->groups, &plan->configs[i], plan->knobs, library,
                              &survey);
        if (good)
            pl_record_config(&launch->record, &plan->configs[i], state);
        else
            say(launch, plan->configs[i].id, state->reason);
    }
    pl_survey_close(&survey);
    if (!good)
        return PL_EXIT_FAILED;
    for (int i = 0; i < plan->config_count; i++)
        for (int group = 0; launch->configs[i].in_force && group < launch->groups.count; group++)
            settle(launch->configs[i].comms[group]);
    return PL_EXIT_FINE;
}

static void write_cases(struct launch *launch)
{
    const struct pl_plan *plan = &launch->plan;
    for (int i = 0; i < plan->case_count; i++) {
        const struct pl_case *c = &plan->cases[i];
        size_t size = pl_types[c->type].size;
        struct pl_shape shape =
            pl_case_shape(c, c->ranks ? c->ranks : launch->world->size, c->root);
        int64_t moved = c->empty ? 0 : shape.total * (int64_t)size;
        pl_record_case(&launch->record, c, moved);
    }
}

static bool write_load(struct launch *launch)
{
    struct pl_host_load *loads;
    const int64_t trips_ns[2] = {launch->trip_ns, pl_p2p_trip_ns(launch->world)};
    bool good = pl_load_gather(&loads, launch->world, &launch->hosts, &launch->load);
    if (good)
        pl_record_load(&launch->record, &launch->hosts, loads, trips_ns);
    free(loads);
    return good;
}

static bool any_delay(const struct pl_plan *plan)
{
    for (int i = 0; i < plan->case_count; i++)
        if (plan->cases[i].delay_ns > 0)
            return true;
    return false;
}

static int measure(struct launch *launch)
{
    const struct pl_plan *plan = &launch->plan;
    int *good = calloc((size_t)plan->case_count + 1, sizeof *good);
    bool room = pl_buffers_open(&launch->buffers, plan->cases, plan->case_count, launch->world);
    int result = PL_EXIT_FAILED;

    if (pl_p2p_agree(launch->world, !good || !room)) {
        say(launch, "buffers", "out of memory; ask for fewer bytes or fewer ranks on a node");
    } else {
        struct pl_timing timing = {.plan = plan,
                                   .configs = launch->configs,
                                   .world = launch->world,
                                   .groups = &launch->groups,
                                   .buffers = &launch->buffers,
                                   .cache = &launch->cache,
                                   .global = &launch->global,
                                   .record = &launch->record,
                                   .counters = &launch->counters,
                                   .cases = good};
        struct pl_refusals refusals;
        const char *failure = pl_refuse_open(&refusals);
        if (pl_p2p_agree(launch->world, failure != NULL) && !failure)
            failure = "another host cannot do what PLUMBLINE_REFUSES asks for";
        timing.spent.start_ns = pl_world_elapsed_ns(launch->world);
        timing.case_count = failure ? 0 : pl_checks_before(&timing, good);
        pl_refuse_close(&refusals);
        timing.spent.checks_ns = pl_world_elapsed_ns(launch->world) - timing.spent.start_ns;
        if (any_delay(plan))
            timing.delay = pl_delay_calibrate(plan->clock);
        /* Blocks that need the global clock learn it themselves. */
        const bool stamped = pl_plan_is_traced(plan) && !pl_plan_is_global(plan);
        int64_t error_ns;
        if (!failure && stamped && !pl_clocks_learn(&launch->global, &launch->record, &error_ns))
            failure = "out of memory for the errors of clocks; ask for fewer ranks";
        if (!failure)
            failure = plan->plain ? pl_plain_run(&timing) : pl_blocks_run(&timing);
        const int64_t checked_ns = pl_world_elapsed_ns(launch->world);
        if (!failure)
            timing.case_count = pl_checks_after(&timing, good, timing.case_count);
        timing.spent.checks_ns += pl_world_elapsed_ns(launch->world) - checked_ns;
        if (!failure)
            failure = pl_pingpong_run(plan, launch->world, &launch->seat, &launch->record,
                                      &timing.spent.timed_ns);
        if (!failure)
            failure = pl_overlap_run(plan, launch->world, &launch->record, &launch->global,
                                     &timing.spent.timed_ns);
        if (!failure && stamped && pl_clocks_error(&launch->global, &launch->record, "end") < 0)
            failure = "out of memory for the errors of clocks; ask for fewer ranks";
        if (failure) {
            say(launch, "measurement", failure);
        } else if (!write_load(launch)) {
            say(launch, "load", "out of memory");
        } else {
            pl_record_footer(&launch->record, plan->case_count, &timing.spent,
                             pl_world_elapsed_ns(launch->world));
            result = PL_EXIT_FINE;
        }
    }
    pl_buffers_close(&launch->buffers);
    free(good);
    return result;
}

static int close_record(struct launch *launch, const char *path, int result)
{
    if (result == PL_EXIT_FINE)
        pl_record_finish(&launch->record);
    int error = (int)pl_p2p_agree(launch->world, launch->record.error);
    pl_record_abandon(&launch->record);
    if (!error)
        return result;
    say(launch, path, strerror(error));
    return PL_EXIT_FAILED;
}

int pl_measure(const struct pl_world *world, const char *plan_path, const char *out_path)
{
    struct launch launch = {.world = world, .counters = {.migrations_file = -1}};
    int result = open_plan(&launch, plan_path);
    if (result == PL_EXIT_FINE)
        result = require_threads(&launch, plan_path);
    if (result == PL_EXIT_FINE)
        result = start_timers(&launch);
    if (result == PL_EXIT_FINE)
        result = open_record(&launch, out_path, plan_path);
    bool recording = result == PL_EXIT_FINE;
    if (result == PL_EXIT_FINE)
        result = write_header(&launch);
    if (result == PL_EXIT_FINE)
        result = open_configs(&launch);
    if (result == PL_EXIT_FINE) {
        write_cases(&launch);
        result = measure(&launch);
    }
    if (recording)
        result = close_record(&launch, out_path, result);
    for (int i = 0; launch.configs && i < launch.plan.config_count; i++)
        pl_config_close(&launch.configs[i], &launch.groups);
    free(launch.configs);
    pl_groups_close(&launch.groups);
    pl_cache_close(&launch.cache);
    pl_clock_nodes_free(&launch.nodes);
    pl_counters_close(&launch.counters);
    pl_hosts_close(&launch.hosts);
    pl_plan_free(&launch.plan);
    return result;
}
