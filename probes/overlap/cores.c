#include "overlap/cores.h"

#include <stdlib.h>
#include <string.h>

/* What every rank tells all others. */
struct seat {
    char host[MPI_MAX_PROCESSOR_NAME];
    struct pl_units bound;
    int plays;
};

static void append(int *units, int *count, const struct pl_units *allowed,
                   const struct pl_units *taken, bool wanted)
{
    for (int unit = 0; unit < PL_UNITS; unit++)
        if (pl_units_has(allowed, unit) && pl_units_has(taken, unit) == wanted)
            units[(*count)++] = unit;
}

bool pl_cores_order(struct pl_cores *cores, const struct pl_units *allowed,
                    const struct pl_units *taken)
{
    cores->count = 0;
    cores->units = calloc((size_t)pl_units_count(allowed), sizeof *cores->units);
    if (!cores->units)
        return false;
    append(cores->units, &cores->count, allowed, taken, false);
    cores->free = cores->count;
    append(cores->units, &cores->count, allowed, taken, true);
    return true;
}

/* From what the ranks of this host have told. */
static bool settle(struct pl_cores *cores, const struct pl_world *world, const struct seat *seats)
{
    struct pl_units allowed, taken = {0};
    for (int rank = 0; rank < world->size; rank++) {
        if (strcmp(seats[rank].host, seats[world->rank].host) != 0)
            continue;
        cores->place += rank < world->rank && seats[rank].plays;
        cores->players += seats[rank].plays;
        CPU_OR_S(sizeof taken.set, taken.set, taken.set, seats[rank].bound.set);
    }
    return pl_units_allowed(&allowed) && pl_cores_order(cores, &allowed, &taken);
}

bool pl_cores_find(struct pl_cores *cores, const struct pl_world *world, bool plays)
{
    int length;
    struct seat mine = {.plays = plays};
    const size_t size = (size_t)world->size * sizeof mine;
    *cores = (struct pl_cores){0};
    struct seat *seats = malloc(size);
    PMPI_Get_processor_name(mine.host, &length);
    bool good = pl_units_bound(&mine.bound);
    if (!pl_p2p_agree(world, !good || !seats)) {
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
