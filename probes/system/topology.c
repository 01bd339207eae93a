#include "system/topology.h"

#include "system/apart.h"

#include <hwloc.h>
#include <stdio.h>
#include <stdlib.h>

#if HWLOC_API_VERSION >> 16 != 2
#error "hwloc 2 is needed"
#endif

enum { TAG_TOPOLOGY = 40 };

#define FUNCTIONS(X)                                                                               \
    X(get_api_version)                                                                             \
    X(topology_init)                                                                               \
    X(topology_load)                                                                               \
    X(topology_destroy)                                                                            \
    X(topology_get_depth)                                                                          \
    X(get_type_depth)                                                                              \
    X(get_nbobjs_by_depth)                                                                         \
    X(get_obj_by_depth)                                                                            \
    X(obj_type_is_cache)                                                                           \
    X(bitmap_weight)                                                                               \
    X(bitmap_isincluded)                                                                           \
    X(topology_export_synthetic)                                                                   \
    X(topology_export_xmlbuffer)                                                                   \
    X(free_xmlbuffer)
#define FIELD(name) __typeof__(&hwloc_##name) name;
#define NAME(name) "hwloc_" #name,

static struct {
    FUNCTIONS(FIELD)
} hwloc;
static const char *const names[] = {FUNCTIONS(NAME)};

/* Its plugins (for devices, which nobody asks for here) would take hwloc's functions from whoever
 * shows some first: it finds none. */
static const char *load_library(void)
{
    if (hwloc.get_api_version)
        return NULL;
    setenv("HWLOC_PLUGINS_PATH", "", 1);
    return pl_apart("libhwloc.so.15", PL_HWLOC_FOLDER, names, sizeof names / sizeof *names, &hwloc);
}

/* NULL, or why not. */
static const char *load(hwloc_topology_t *topology)
{
    const char *failure = load_library();
    if (failure)
        return failure;
    if (hwloc.topology_init(topology) != 0)
        return "out of memory";
    if (hwloc.topology_load(*topology) == 0)
        return NULL;
    hwloc.topology_destroy(*topology);
    return "hwloc cannot read it";
}

void pl_topology_library(char *text, size_t size, char *missing, size_t missing_size)
{
    const char *failure = load_library();
    if (failure) {
        snprintf(missing, missing_size, "%s", failure);
        return;
    }
    const unsigned version = hwloc.get_api_version();
    snprintf(text, size, "interface %u.%u.%u", version >> 16, version >> 8 & 255, version & 255);
}

/* Panels ask again and again: it is read once in a process. */
void pl_topology_synthetic(char *text, size_t size, char *missing, size_t missing_size)
{
    static char described[512], failed[128];
    hwloc_topology_t topology;
    if (!described[0] && !failed[0]) {
        const char *failure = load(&topology);
        if (failure)
            snprintf(failed, sizeof failed, "%s", failure);
        else if (hwloc.topology_export_synthetic(topology, described, sizeof described, 0) < 0)
            snprintf(failed, sizeof failed, "hwloc: its parts are not alike, or too many levels");
        if (failed[0])
            described[0] = '\0';
        if (!failure)
            hwloc.topology_destroy(topology);
    }
    snprintf(text, size, "%s", described);
    snprintf(missing, missing_size, "%s", failed);
}

int pl_processing_units(void)
{
    struct pl_units units;
    return pl_units_allowed(&units) ? pl_units_count(&units) : 0;
}

/* How many there are of a type; objects of one type are at one depth, but for caches and groups. */
static int count(hwloc_topology_t topology, hwloc_obj_type_t type)
{
    const int depth = hwloc.get_type_depth(topology, type);
    return depth == HWLOC_TYPE_DEPTH_UNKNOWN ? 0 : (int)hwloc.get_nbobjs_by_depth(topology, depth);
}

/* NULL: there is none. */
static hwloc_obj_t object(hwloc_topology_t topology, hwloc_obj_type_t type, int index)
{
    const int depth = hwloc.get_type_depth(topology, type);
    return depth == HWLOC_TYPE_DEPTH_UNKNOWN
               ? NULL
               : hwloc.get_obj_by_depth(topology, depth, (unsigned)index);
}

static hwloc_obj_t above(hwloc_obj_t from, hwloc_obj_type_t type)
{
    while (from && from->type != type)
        from = from->parent;
    return from;
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

static bool holds_data(hwloc_obj_t cache)
{
    return hwloc.obj_type_is_cache(cache->type) &&
           cache->attr->cache.type != HWLOC_OBJ_CACHE_INSTRUCTION;
}

/* No core but the one below has it above itself. Processing units that are not in the topology
 * (another cgroup's) count as well, as far as hwloc knows them. `core` is NULL for the cache of a
 * part of a core, or where there are no cores. */
static bool is_private(hwloc_obj_t cache, hwloc_obj_t core)
{
    if (!core)
        return hwloc.bitmap_weight(cache->complete_cpuset) == 1;
    return hwloc.bitmap_isincluded(cache->complete_cpuset, core->complete_cpuset);
}

static void add_caches(struct pl_cache_sizes *sizes, hwloc_obj_t unit)
{
    hwloc_obj_t core = NULL;
    for (hwloc_obj_t at = unit->parent; at; at = at->parent) {
        if (at->type == HWLOC_OBJ_CORE)
            core = at;
        if (!holds_data(at))
            continue;
        const size_t bytes = (size_t)at->attr->cache.size;
        sizes->largest_bytes = larger(sizes->largest_bytes, bytes);
        if (is_private(at, core))
            sizes->private_bytes = larger(sizes->private_bytes, bytes);
        if (at->attr->cache.linesize > 0)
            sizes->line_bytes = at->attr->cache.linesize;
    }
}

/* The index that all have: -2 before the first. */
static int common(int index, int own)
{
    return index == -2 || index == own ? own : -1;
}

static int logical(hwloc_obj_t object)
{
    return object ? (int)object->logical_index : -1;
}

/* The data cache that most share. */
static int last_cache(hwloc_obj_t unit)
{
    int number = -1;
    for (hwloc_obj_t at = unit->parent; at; at = at->parent)
        number = holds_data(at) ? (int)at->gp_index : number;
    return number;
}

/* The object that the next NUMA node hangs on. */
static int next_memory(hwloc_obj_t unit)
{
    while (unit && unit->memory_arity == 0)
        unit = unit->parent;
    return unit ? (int)unit->gp_index : -1;
}

struct pl_surroundings pl_surroundings_of(struct hwloc_topology *topology,
                                          const struct pl_units *bound)
{
    const hwloc_obj_t root = hwloc.get_obj_by_depth(topology, 0, 0);
    const bool cores = count(topology, HWLOC_OBJ_CORE) > 0;
    struct pl_surroundings found = {
        .package = -2,
        .core = -2,
        .cache = -2,
        .numa = -2,
        .caches = {.memory_bytes = (size_t)root->total_memory, .line_bytes = 64}};
    for (int i = 0; i < count(topology, HWLOC_OBJ_PU); i++) {
        const hwloc_obj_t unit = object(topology, HWLOC_OBJ_PU, i);
        add_caches(&found.caches, unit);
        if (!pl_units_has(bound, (int)unit->os_index))
            continue;
        found.package = common(found.package, logical(above(unit, HWLOC_OBJ_PACKAGE)));
        found.core = common(found.core, logical(cores ? above(unit, HWLOC_OBJ_CORE) : unit));
        found.cache = common(found.cache, last_cache(unit));
        found.numa = common(found.numa, next_memory(unit));
    }
    if (count(topology, HWLOC_OBJ_PACKAGE) == 0)
        found.package = 0;
    found.package = found.package < 0 ? -1 : found.package;
    found.core = found.core < 0 ? -1 : found.core;
    found.cache = found.cache < 0 ? -1 : found.cache;
    found.numa = found.numa < 0 ? -1 : found.numa;
    return found;
}

/* The first rank of a host answers each other one, which says what it is bound to. */
const char *pl_surroundings_find(struct pl_surroundings *found, const struct pl_world *world,
                                 const struct pl_hosts *hosts)
{
    const int host = hosts->of[world->rank], reader = hosts->readers[host];
    hwloc_topology_t topology;
    struct pl_units bound;
    const char *failure = hosts->reads ? load(&topology) : NULL;
    const bool loaded = hosts->reads && !failure;
    if (failure && world->rank > 0)
        fprintf(stderr, "probe: hwloc: %s\n", failure);
    if (pl_p2p_agree(world, failure != NULL)) {
        if (loaded)
            hwloc.topology_destroy(topology);
        return failure ? failure : "the topology of a host cannot be read";
    }
    if (!pl_units_bound(&bound)) /* nobody knows where it is */
        bound = (struct pl_units){0};
    if (!hosts->reads)
        PMPI_Sendrecv(&bound, (int)sizeof bound, MPI_BYTE, reader, TAG_TOPOLOGY, found,
                      (int)sizeof *found, MPI_BYTE, reader, TAG_TOPOLOGY, world->harness,
                      MPI_STATUS_IGNORE);
    else
        *found = pl_surroundings_of(topology, &bound);
    for (int rank = reader + 1; hosts->reads && rank < world->size; rank++) {
        if (hosts->of[rank] != host)
            continue;
        PMPI_Recv(&bound, (int)sizeof bound, MPI_BYTE, rank, TAG_TOPOLOGY, world->harness,
                  MPI_STATUS_IGNORE);
        const struct pl_surroundings theirs = pl_surroundings_of(topology, &bound);
        PMPI_Send(&theirs, (int)sizeof theirs, MPI_BYTE, rank, TAG_TOPOLOGY, world->harness);
    }
    if (loaded)
        hwloc.topology_destroy(topology);
    return NULL;
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
    for (int depth = hwloc.topology_get_depth(topology) - 1; depth >= 0; depth--) {
        hwloc_obj_t cache = hwloc.get_obj_by_depth(topology, depth, 0);
        if (!cache || !hwloc.obj_type_is_cache(cache->type))
            continue;
        pl_json_object(json, NULL);
        pl_json_integer(json, "level", cache->attr->cache.depth);
        pl_json_text(json, "kind", cache_kind(cache->attr->cache.type));
        pl_json_unsigned(json, "bytes", cache->attr->cache.size);
        pl_json_integer(json, "line_bytes", cache->attr->cache.linesize);
        pl_json_integer(json, "processing_units", hwloc.bitmap_weight(cache->cpuset));
        pl_json_integer(json, "count", hwloc.get_nbobjs_by_depth(topology, depth));
        pl_json_end(json);
    }
    pl_json_end(json);
}

bool pl_topology_json(struct pl_json *json)
{
    hwloc_topology_t topology;
    if (load(&topology))
        return false;
    const hwloc_obj_t root = hwloc.get_obj_by_depth(topology, 0, 0);
    const hwloc_obj_t package = object(topology, HWLOC_OBJ_PACKAGE, 0);
    const char *cpu = package ? hwloc_obj_get_info_by_name(package, "CPUModel") : NULL;
    char *xml = NULL;
    int length;
    pl_json_text(json, "cpu_model", cpu ? cpu : "");
    pl_json_unsigned(json, "memory_bytes", root->total_memory);
    pl_json_integer(json, "packages", count(topology, HWLOC_OBJ_PACKAGE));
    pl_json_integer(json, "cores", count(topology, HWLOC_OBJ_CORE));
    pl_json_integer(json, "processing_units", pl_processing_units());
    pl_json_integer(json, "numa_nodes", count(topology, HWLOC_OBJ_NUMANODE));
    caches_json(json, topology);
    if (hwloc.topology_export_xmlbuffer(topology, &xml, &length, 0) == 0) {
        pl_json_text(json, "xml", xml);
        hwloc.free_xmlbuffer(topology, xml);
    } else {
        pl_json_text(json, "xml", "");
    }
    hwloc.topology_destroy(topology);
    return true;
}
