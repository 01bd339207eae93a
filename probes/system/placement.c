#include "system/placement.h"

#include <stdlib.h>
#include <string.h>

#include "simulated.h"

int pl_processing_units(hwloc_topology_t topology)
{
    return hwloc_bitmap_weight(hwloc_topology_get_allowed_cpuset(topology));
}

static void read_place(struct pl_place *place, hwloc_topology_t topology)
{
    int length;
    memset(place, 0, sizeof *place);
    PMPI_Get_processor_name(place->host, &length);
    hwloc_bitmap_t set = hwloc_bitmap_alloc();
    /* A simulated rank stays on the core that it has to itself. */
    if (!PL_SIMULATED && set && hwloc_get_cpubind(topology, set, HWLOC_CPUBIND_PROCESS) == 0)
        hwloc_bitmap_list_snprintf(place->binding, sizeof place->binding, set);
    hwloc_bitmap_free(set);
}

int pl_placement_first_on_host(const struct pl_placement *placement, int rank)
{
    int first = 0;
    while (strcmp(placement->ranks[first].host, placement->ranks[rank].host) != 0)
        first++;
    return first;
}

bool pl_placement_gather(struct pl_placement *placement, const struct pl_world *world,
                         hwloc_topology_t topology)
{
    struct pl_place mine;
    *placement = (struct pl_placement){0};
    if (world->rank == 0)
        placement->ranks = calloc((size_t)world->size, sizeof *placement->ranks);
    if (pl_p2p_agree(world, world->rank == 0 && !placement->ranks))
        return false;
    read_place(&mine, topology);
    pl_p2p_gather(world, &mine, (int)sizeof mine, placement->ranks);
    if (world->rank > 0)
        return true;

    for (int rank = 0; rank < world->size; rank++) {
        int first = pl_placement_first_on_host(placement, rank);
        placement->nodes += first == rank;
        if (++placement->ranks[first].population > placement->ppn)
            placement->ppn = placement->ranks[first].population;
    }
    return true;
}

void pl_placement_free(struct pl_placement *placement)
{
    free(placement->ranks);
    placement->ranks = NULL;
}
