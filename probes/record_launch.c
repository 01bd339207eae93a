/* Records of a launch: its circumstances, its configurations, and where its time went. */
#include "names.h"
#include "record.h"
#include "system/facts.h"

#define SCHEMA 2

void pl_record_header(struct pl_record *record, const struct pl_plan *plan,
                      const struct pl_record_facts *facts)
{
    if (!record->json.out)
        return;
    const struct pl_placement *placement = facts->placement;
    char library[MPI_MAX_LIBRARY_VERSION_STRING], standard[16];
    pl_library_text(library);
    pl_standard_text(standard);

    struct pl_json *json = pl_record_start(record, "header");
    pl_json_integer(json, "schema", SCHEMA);
    pl_plan_echo(json, &pl_line_set, plan, "run", "run");
    pl_json_text(json, "probe", PL_VERSION);
    pl_json_text(json, "library", library);
    pl_json_text(json, "mpi", standard);
    pl_json_integer(json, "nprocs", facts->nprocs);
    pl_json_integer(json, "nodes", placement->nodes);
    pl_json_integer(json, "ppn", placement->ppn);
    pl_json_array(json, "hosts");
    for (int rank = 0; rank < facts->nprocs; rank++)
        if (placement->first[rank] == rank)
            pl_json_text(json, NULL, placement->ranks[rank].host);
    pl_json_end(json);
    pl_json_integer(json, "processing_units", facts->processing_units);
    pl_json_bool(json, "oversubscribed", placement->ppn > facts->processing_units);
    PL_JSON_EACH(json, "binding", rank, facts->nprocs, text, placement->ranks[rank].binding);
    pl_plan_echo(json, &pl_line_set, plan, "sync", "sync");
    pl_json_object(json, "clock");
    pl_json_text(json, "name", plan->clock->name);
    pl_json_integer(json, "resolution_ns", facts->clock.resolution_ns);
    pl_json_integer(json, "cost_ns", facts->clock.cost_ns);
    pl_json_bool(json, "shared", plan->clock->shared);
    pl_json_end(json);
    pl_plan_echo(json, &pl_line_set, plan, "seed", "runtime");
    pl_json_object(json, "cache");
    pl_json_text(json, "mode", pl_names_at(PL_LIST_CACHES, (int)facts->cache->mode));
    pl_json_unsigned(json, "bytes", facts->cache->bytes);
    pl_json_end(json);
    pl_json_object(json, "environment");
    pl_environment_json(json);
    pl_json_end(json);
    pl_factors_json(json, facts->factors);
    pl_record_end(record);
}

void pl_record_config(struct pl_record *record, const struct pl_config *config,
                      const struct pl_config_state *state)
{
    struct pl_json *json = pl_record_start(record, "config");
    pl_json_text(json, "id", config->id);
    pl_json_bool(json, "in_force", state->in_force);
    pl_json_text(json, "reason", state->reason);
    pl_json_object(json, "knobs");
    for (int i = 0; i < config->knob_count; i++) {
        pl_json_object(json, config->knobs[i].name);
        pl_json_text(json, "wanted", config->knobs[i].value);
        pl_json_text(json, "read", state->read[i]);
        pl_json_end(json);
    }
    pl_json_end(json);
    pl_record_end(record);
}

void pl_record_load(struct pl_record *record, const struct pl_hosts *hosts,
                    const struct pl_host_load *loads, const int64_t trips_ns[2])
{
    if (!record->json.out)
        return;
    struct pl_json *json = pl_record_start(record, "load");
    pl_json_array(json, "hosts");
    for (int host = 0; host < hosts->count; host++) {
        pl_json_object(json, NULL);
        pl_json_text(json, "host", hosts->names[host]);
        pl_json_real(json, "load_start", loads[host].average_start);
        pl_json_real(json, "load_end", loads[host].average_end);
        pl_json_real(json, "busy_seconds", loads[host].busy);
        pl_json_real(json, "own_seconds", loads[host].own);
        pl_json_real(json, "stolen_seconds", loads[host].stolen);
        pl_json_end(json);
    }
    pl_json_end(json);
    pl_json_integers(json, "trips_ns", trips_ns, trips_ns[0] > 0 ? 2 : 0);
    pl_record_end(record);
}

void pl_record_footer(struct pl_record *record, int cases, const struct pl_spent *spent,
                      int64_t wall_ns)
{
    struct pl_json *json = pl_record_start(record, "footer");
    pl_json_integer(json, "cases", cases);
    pl_json_integer(json, "timed_ns", spent->timed_ns);
    pl_json_integer(json, "wall_ns", wall_ns);
    pl_json_integer(json, "start_ns", spent->start_ns);
    pl_json_integer(json, "checks_ns", spent->checks_ns);
    pl_json_integer(json, "warmup_ns", spent->warmup_ns);
    pl_record_end(record);
}
