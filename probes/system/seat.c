#include "system/seat.h"

#include <string.h>

static const char *const names[] = {[PL_PAIR_SAME_CORE] = "same_core",
                                    [PL_PAIR_SAME_SOCKET] = "same_socket",
                                    [PL_PAIR_OTHER_SOCKET] = "other_socket",
                                    [PL_PAIR_OTHER_NODE] = "other_node",
                                    [PL_PAIR_UNKNOWN] = "unknown"};

const char *pl_pair_name(enum pl_pair pair)
{
    return names[pair];
}

enum pl_pair pl_pair_of(const struct pl_seat *a, const struct pl_seat *b)
{
    if (strcmp(a->host, b->host) != 0)
        return PL_PAIR_OTHER_NODE;
    if (a->package < 0 || b->package < 0)
        return PL_PAIR_UNKNOWN;
    if (a->package != b->package)
        return PL_PAIR_OTHER_SOCKET;
    return a->core >= 0 && a->core == b->core ? PL_PAIR_SAME_CORE : PL_PAIR_SAME_SOCKET;
}

static int index_above(hwloc_obj_t object, hwloc_obj_type_t type)
{
    while (object && object->type != type)
        object = object->parent;
    return object ? (int)object->logical_index : -1;
}

void pl_seat_of_set(struct pl_seat *seat, hwloc_topology_t topology, hwloc_const_bitmap_t set)
{
    hwloc_obj_t around = hwloc_get_obj_covering_cpuset(topology, set);
    seat->package = index_above(around, HWLOC_OBJ_PACKAGE);
    seat->core = index_above(around, HWLOC_OBJ_CORE);
    if (hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PACKAGE) == 0)
        seat->package = 0;
    if (hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE) == 0)
        seat->core = index_above(around, HWLOC_OBJ_PU);
}

void pl_seat_read(struct pl_seat *seat, hwloc_topology_t topology)
{
    int length;
    memset(seat, 0, sizeof *seat);
    seat->package = seat->core = -1;
    PMPI_Get_processor_name(seat->host, &length);
    hwloc_bitmap_t set = hwloc_bitmap_alloc();
    if (set && hwloc_get_cpubind(topology, set, HWLOC_CPUBIND_PROCESS) == 0) {
        hwloc_bitmap_and(set, set, hwloc_topology_get_allowed_cpuset(topology));
        pl_seat_of_set(seat, topology, set);
    }
    hwloc_bitmap_free(set);
}
