#include "overlap/cores.h"

#include "system/topology.h"

#include <stdlib.h>
#include <string.h>

/* What every rank tells all others. */
struct seat {
    char host[MPI_MAX_PROCESSOR_NAME];
    char binding[1024]; /* as hwloc writes a list */
    int plays;
};

static void read_seat(struct seat *seat, hwloc_topology_t topology, bool plays)
{
    int length;
    memset(seat, 0, sizeof *seat);
    seat->plays = plays;
    PMPI_Get_processor_name(seat->host, &length);
    hwloc_bitmap_t set = hwloc_bitmap_alloc();
    if (set && hwloc_get_cpubind(topology, set, HWLOC_CPUBIND_PROCESS) == 0)
        hwloc_bitmap_list_snprintf(seat->binding, sizeof seat->binding, set);
    hwloc_bitmap_free(set);
}

bool pl_cores_order(struct pl_cores *cores, hwloc_const_bitmap_t allowed,
                    hwloc_const_bitmap_t taken)
{
    int unit;
    cores->count = cores->free = 0;
    cores->units = calloc((size_t)hwloc_bitmap_weight(allowed), sizeof *cores->units);
    if (!cores->units)
        return false;
    hwloc_bitmap_foreach_begin(unit, allowed) if (!hwloc_bitmap_isset(taken, (unsigned)unit))
        cores->units[cores->free++] = unit;
    hwloc_bitmap_foreach_end();
    cores->count = cores->free;
    hwloc_bitmap_foreach_begin(unit, allowed) if (hwloc_bitmap_isset(taken, (unsigned)unit))
        cores->units[cores->count++] = unit;
    hwloc_bitmap_foreach_end();
    return true;
}

/* From what the ranks of this host have told. */
static bool settle(struct pl_cores *cores, const struct pl_world *world, const struct seat *seats)
{
    hwloc_bitmap_t taken = hwloc_bitmap_alloc(), one = hwloc_bitmap_alloc();
    for (int rank = 0; taken && one && rank < world->size; rank++) {
        if (strcmp(seats[rank].host, seats[world->rank].host) != 0)
            continue;
        cores->place += rank < world->rank && seats[rank].plays;
        cores->players += seats[rank].plays;
        if (hwloc_bitmap_list_sscanf(one, seats[rank].binding) == 0)
            hwloc_bitmap_or(taken, taken, one);
    }
    bool good = taken && one &&
                pl_cores_order(cores, hwloc_topology_get_allowed_cpuset(cores->topology), taken);
    hwloc_bitmap_free(taken);
    hwloc_bitmap_free(one);
    return good;
}

bool pl_cores_find(struct pl_cores *cores, const struct pl_world *world, bool plays)
{
    struct seat mine;
    const size_t size = (size_t)world->size * sizeof mine;
    *cores = (struct pl_cores){0};
    struct seat *seats = malloc(size);
    bool good = pl_topology_open(&cores->topology);
    if (!good)
        cores->topology = NULL;
    if (!pl_p2p_agree(world, !good || !seats)) {
        read_seat(&mine, cores->topology, plays);
        pl_p2p_gather(world, &mine, (int)sizeof mine, seats);
        pl_p2p_broadcast(world, seats, (int)size);
        good = settle(cores, world, seats);
    } else {
        good = false;
    }
    free(seats);
    return !pl_p2p_agree(world, !good);
}

void pl_cores_close(struct pl_cores *cores)
{
    if (cores->topology)
        hwloc_topology_destroy(cores->topology);
    free(cores->units);
    *cores = (struct pl_cores){0};
}

int pl_cores_of_thread(const struct pl_cores *cores, int index)
{
    return cores->units[(index * cores->players + cores->place) % cores->count];
}

int pl_cores_spare(const struct pl_cores *cores)
{
    return cores->players <= cores->free ? cores->units[cores->place] : -1;
}
