#include "system/placement.h"

#include "simulated.h"
#include "system/alike.h"
#include "system/units.h"

#include <stdlib.h>
#include <string.h>

static void read_location(struct pl_location *location)
{
    int length;
    struct pl_units units;
    memset(location, 0, sizeof *location);
    PMPI_Get_processor_name(location->host, &length);
    memset(location->host + length, 0, sizeof location->host - (size_t)length);
    /* A simulated rank stays on the core that it has to itself. */
    if (!PL_SIMULATED && pl_units_bound(&units))
        pl_units_text(&units, location->binding, sizeof location->binding);
}

bool pl_placement_count(struct pl_placement *placement, int size)
{
    int *population = calloc((size_t)size, sizeof *population);
    placement->nodes = placement->ppn = 0;
    placement->first = calloc((size_t)size, sizeof *placement->first);
    const bool good = population && placement->first;
    if (good) {
        pl_alike(placement->ranks, sizeof *placement->ranks, sizeof placement->ranks->host, size,
                 placement->first, population);
        memset(population, 0, (size_t)size * sizeof *population);
    }
    for (int rank = 0; good && rank < size; rank++) {
        const int first = placement->first[rank];
        placement->nodes += first == rank;
        if (++population[first] > placement->ppn)
            placement->ppn = population[first];
    }
    free(population);
    return good;
}

bool pl_placement_gather(struct pl_placement *placement, const struct pl_world *world)
{
    struct pl_location mine;
    *placement = (struct pl_placement){0};
    if (world->rank == 0)
        placement->ranks = calloc((size_t)world->size, sizeof *placement->ranks);
    if (pl_p2p_agree(world, world->rank == 0 && !placement->ranks))
        return false;
    read_location(&mine);
    pl_p2p_gather(world, &mine, (int)sizeof mine, placement->ranks);
    return !pl_p2p_agree(world, world->rank == 0 && !pl_placement_count(placement, world->size));
}

void pl_placement_free(struct pl_placement *placement)
{
    free(placement->ranks);
    free(placement->first);
    *placement = (struct pl_placement){0};
}
