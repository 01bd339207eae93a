/* What topology.c is for SimGrid: a simulated host is one package of cores, without caches, and its
 * ranks are not bound. probes/Makefile takes the one or the other. */
#include "system/topology.h"

#include "simulated.h"

#include <simgrid/host.h>
#include <stdio.h>

int pl_processing_units(void)
{
    return sg_host_core_count(sg_host_self());
}

const char *pl_surroundings_find(struct pl_surroundings *found, const struct pl_world *world,
                                 const struct pl_hosts *hosts)
{
    (void)world;
    (void)hosts;
    *found = (struct pl_surroundings){
        .core = pl_processing_units() == 1 ? 0 : -1, .cache = -1, .numa = -1};
    return NULL;
}

bool pl_topology_json(struct pl_json *json)
{
    pl_json_text(json, "cpu_model", "");
    pl_json_unsigned(json, "memory_bytes", 0);
    pl_json_integer(json, "packages", 1);
    pl_json_integer(json, "cores", pl_processing_units());
    pl_json_integer(json, "processing_units", pl_processing_units());
    pl_json_integer(json, "numa_nodes", 1);
    pl_json_array(json, "caches");
    pl_json_end(json);
    pl_json_text(json, "xml", "");
    return true;
}

void pl_topology_library(char *text, size_t size, char *missing, size_t missing_size)
{
    text[0] = '\0';
    (void)size;
    snprintf(missing, missing_size, PL_SIMULATED_WHY);
}

void pl_topology_synthetic(char *text, size_t size, char *missing, size_t missing_size)
{
    pl_topology_library(text, size, missing, missing_size);
}
