#include "measure/run.h"

#include "system/cvar.h"
#include "system/factors.h"
#include "system/facts.h"
#include "system/placement.h"
#include "system/survey.h"
#include "system/topology.h"

#include <stdlib.h>

/* `value` is NULL where the variable cannot be read. */
static void variable_json(struct pl_json *json, const struct pl_cvar *cvar, const char *value)
{
    char name[PL_CVAR_NAME];
    int item;

    pl_json_object(json, NULL);
    pl_json_text(json, "name", cvar->name);
    pl_json_text(json, "type", pl_cvar_type_name(cvar));
    pl_json_text(json, "scope", pl_cvar_scope_name(cvar));
    pl_json_bool(json, "readable", value != NULL);
    pl_json_text(json, "value", value ? value : "");
    pl_json_text(json, "description", cvar->description);
    pl_json_array(json, "enumerators");
    for (int i = 0; i < pl_cvar_enumerators(cvar); i++) {
        if (!pl_cvar_enumerator(cvar, i, &item, name, sizeof name))
            continue;
        pl_json_object(json, NULL);
        pl_json_integer(json, "value", item);
        pl_json_text(json, "name", name);
        pl_json_end(json);
    }
    pl_json_end(json);
    pl_json_end(json);
}

static bool variables_json(struct pl_json *json)
{
    struct pl_survey survey;
    const bool good = pl_survey_open(&survey);

    pl_json_array(json, "variables");
    for (int i = 0; good && i < pl_cvar_count(); i++) {
        struct pl_cvar cvar;
        if (pl_cvar_info(i, &cvar))
            variable_json(json, &cvar, pl_survey_value(&survey, cvar.name));
    }
    pl_json_end(json);
    pl_survey_close(&survey);
    return good;
}

static bool report(const struct pl_world *world, const struct pl_placement *placement,
                   const struct pl_factors *factors)
{
    struct pl_json json;
    char library[MPI_MAX_LIBRARY_VERSION_STRING], standard[16];
    pl_library_text(library);
    pl_standard_text(standard);

    pl_json_start(&json, stdout);
    pl_json_object(&json, NULL);
    pl_json_text(&json, "probe", PL_VERSION);
    pl_json_text(&json, "library", library);
    pl_json_text(&json, "mpi", standard);
    pl_json_integer(&json, "nprocs", world->size);
    pl_json_integer(&json, "nodes", placement->nodes);
    pl_json_integer(&json, "ppn", placement->ppn);
    pl_json_object(&json, "topology");
    bool good = pl_topology_json(&json);
    pl_json_end(&json);
    pl_json_array(&json, "ranks");
    for (int rank = 0; rank < world->size; rank++) {
        pl_json_object(&json, NULL);
        pl_json_integer(&json, "rank", rank);
        pl_json_text(&json, "host", placement->ranks[rank].host);
        pl_json_text(&json, "binding", placement->ranks[rank].binding);
        pl_json_end(&json);
    }
    pl_json_end(&json);
    pl_json_object(&json, "environment");
    pl_environment_json(&json);
    pl_json_end(&json);
    pl_factors_json(&json, factors);
    good = variables_json(&json) && good;
    pl_json_end(&json);
    fputc('\n', stdout);
    return good && fflush(stdout) == 0;
}

int pl_system(void)
{
    struct pl_world world;
    struct pl_placement placement = {0};
    struct pl_hosts hosts = {0};
    struct pl_factors factors = {0};
    struct pl_counters counters;
    struct pl_factor_context context = {&counters};
    (void)pl_world_start(&world); /* nothing here needs threads */
    pl_counters_open(&counters, &world);
    bool good = pl_placement_gather(&placement, &world) &&
                pl_hosts_open(&hosts, &world, &placement) &&
                pl_factors_gather(&factors, &world, &hosts, &context);
    if (good && world.rank == 0)
        good = report(&world, &placement, &factors);
    pl_counters_close(&counters);
    if (!good && world.rank == 0)
        fprintf(stderr, "probe: system: the topology or a variable cannot be read, or standard "
                        "output not written\n");
    pl_factors_free(&factors);
    pl_hosts_close(&hosts);
    pl_placement_free(&placement);
    good = !pl_p2p_agree(&world, !good);
    pl_world_stop(&world);
    return good ? PL_EXIT_FINE : PL_EXIT_FAILED;
}
