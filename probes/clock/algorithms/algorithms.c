/* The table of clock synchronisation algorithms. */
#include "clock/algorithms/algorithms.h"

#include <stddef.h>
#include <string.h>

#define PL_CLOCK_SYNC(name) extern const struct pl_clock_sync pl_clock_sync_##name;
#include "clock/algorithms/algorithms.def"
#undef PL_CLOCK_SYNC

const struct pl_clock_sync *const pl_clock_syncs[] = {
#define PL_CLOCK_SYNC(name) &pl_clock_sync_##name,
#include "clock/algorithms/algorithms.def"
#undef PL_CLOCK_SYNC
};
const int pl_clock_sync_count = sizeof pl_clock_syncs / sizeof *pl_clock_syncs;

const struct pl_clock_sync *pl_clock_sync_by_name(const char *name)
{
    for (int i = 0; i < pl_clock_sync_count; i++)
        if (strcmp(pl_clock_syncs[i]->name, name) == 0)
            return pl_clock_syncs[i];
    return NULL;
}
