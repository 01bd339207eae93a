#include "system/seat.h"

#include "system/topology.h"

#include <string.h>

static const char *const names[] = {[PL_PAIR_SAME_CORE] = "same_core",
                                    [PL_PAIR_SAME_CACHE] = "same_cache",
                                    [PL_PAIR_SAME_SOCKET] = "same_socket",
                                    [PL_PAIR_OTHER_NUMA] = "other_numa",
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
    if (a->core >= 0 && a->core == b->core)
        return PL_PAIR_SAME_CORE;
    if (a->cache >= 0 && a->cache == b->cache)
        return PL_PAIR_SAME_CACHE;
    return a->numa >= 0 && b->numa >= 0 && a->numa != b->numa ? PL_PAIR_OTHER_NUMA
                                                              : PL_PAIR_SAME_SOCKET;
}

void pl_seat_read(struct pl_seat *seat, const struct pl_surroundings *around)
{
    int length;
    memset(seat, 0, sizeof *seat);
    seat->package = around->package;
    seat->core = around->core;
    seat->cache = around->cache;
    seat->numa = around->numa;
    PMPI_Get_processor_name(seat->host, &length);
}
