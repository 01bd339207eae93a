#include "system/hosts.h"

#include <stdlib.h>
#include <string.h>

bool pl_hosts_open(struct pl_hosts *hosts, const struct pl_world *world,
                   const struct pl_placement *placement)
{
    size_t size = (size_t)world->size;
    *hosts = (struct pl_hosts){.of = calloc(size, sizeof *hosts->of),
                               .readers = calloc(size, sizeof *hosts->readers)};
    bool good = hosts->of && hosts->readers;
    if (world->rank == 0) {
        hosts->names = calloc((size_t)placement->nodes, sizeof *hosts->names);
        good = good && hosts->names;
    }
    if (pl_p2p_agree(world, !good)) {
        pl_hosts_close(hosts);
        return false;
    }
    for (int rank = 0; world->rank == 0 && rank < world->size; rank++) {
        int first = placement->first[rank];
        if (first < rank) {
            hosts->of[rank] = hosts->of[first];
            continue;
        }
        memcpy(hosts->names[hosts->count], placement->ranks[rank].host, sizeof *hosts->names);
        hosts->of[rank] = hosts->count++;
    }
    pl_p2p_broadcast(world, hosts->of, (int)(size * sizeof *hosts->of));
    for (int rank = world->size - 1; rank >= 0; rank--) {
        hosts->readers[hosts->of[rank]] = rank;
        if (hosts->of[rank] >= hosts->count)
            hosts->count = hosts->of[rank] + 1;
    }
    hosts->reads = hosts->readers[hosts->of[world->rank]] == world->rank;
    return true;
}

void pl_hosts_close(struct pl_hosts *hosts)
{
    free(hosts->of);
    free(hosts->readers);
    free(hosts->names);
    *hosts = (struct pl_hosts){0};
}
