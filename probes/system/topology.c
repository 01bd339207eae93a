#include "system/topology.h"

#include "simulated.h"
#include "system/placement.h"

#include <stdio.h>
#include <string.h>

#if PL_SIMULATED
#include <simgrid/host.h>
#endif

/* Of this host of the platform. */
static int simulated_cores(void)
{
#if PL_SIMULATED
    return sg_host_core_count(sg_host_self());
#else
    return 0;
#endif
}

bool pl_topology_open(hwloc_topology_t *topology)
{
    char cores[48];
    if (hwloc_topology_init(topology) != 0)
        return false;
    snprintf(cores, sizeof cores, "pack:1 core:%d pu:1", simulated_cores());
    if ((!PL_SIMULATED || hwloc_topology_set_synthetic(*topology, cores) == 0) &&
        hwloc_topology_load(*topology) == 0)
        return true;
    hwloc_topology_destroy(*topology);
    return false;
}

static const char *cache_kind(hwloc_obj_cache_type_t type)
{
    switch (type) {
    case HWLOC_OBJ_CACHE_UNIFIED:
        return "unified";
    case HWLOC_OBJ_CACHE_DATA:
        return "data";
    case HWLOC_OBJ_CACHE_INSTRUCTION:
        return "instruction";
    }
    return "unknown";
}

/* Caches of one depth are alike on all machines but hybrid ones; the first stands for them, `count`
 * says how many there are. */
static void caches_json(struct pl_json *json, hwloc_topology_t topology)
{
    pl_json_array(json, "caches");
    for (int depth = hwloc_topology_get_depth(topology) - 1; depth >= 0; depth--) {
        hwloc_obj_t cache = hwloc_get_obj_by_depth(topology, depth, 0);
        if (!cache || !hwloc_obj_type_is_cache(cache->type))
            continue;
        pl_json_object(json, NULL);
        pl_json_integer(json, "level", cache->attr->cache.depth);
        pl_json_text(json, "kind", cache_kind(cache->attr->cache.type));
        pl_json_unsigned(json, "bytes", cache->attr->cache.size);
        pl_json_integer(json, "line_bytes", cache->attr->cache.linesize);
        pl_json_integer(json, "processing_units", hwloc_bitmap_weight(cache->cpuset));
        pl_json_integer(json, "count", hwloc_get_nbobjs_by_depth(topology, depth));
        pl_json_end(json);
    }
    pl_json_end(json);
}

void pl_topology_json(struct pl_json *json, hwloc_topology_t topology)
{
    hwloc_obj_t root = hwloc_get_root_obj(topology);
    const char *cpu = NULL;
    hwloc_obj_t package = hwloc_get_obj_by_type(topology, HWLOC_OBJ_PACKAGE, 0);
    if (package)
        cpu = hwloc_obj_get_info_by_name(package, "CPUModel");
    pl_json_text(json, "cpu_model", cpu ? cpu : "");
    pl_json_unsigned(json, "memory_bytes", root->total_memory);
    pl_json_integer(json, "packages", hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PACKAGE));
    pl_json_integer(json, "cores", hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE));
    pl_json_integer(json, "processing_units", pl_processing_units(topology));
    pl_json_integer(json, "numa_nodes", hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_NUMANODE));
    caches_json(json, topology);

    char *xml = NULL;
    int length;
    if (hwloc_topology_export_xmlbuffer(topology, &xml, &length, 0) == 0) {
        pl_json_text(json, "xml", xml);
        hwloc_free_xmlbuffer(topology, xml);
    } else {
        pl_json_text(json, "xml", "");
    }
}
