/* The table of start schemes. */
#include "sync/sync.h"

#include <stddef.h>
#include <string.h>

const struct pl_sync *const pl_syncs[] = {
#define PL_SYNC(name) &pl_sync_##name,
#include "sync/syncs.def"
#undef PL_SYNC
};
const int pl_sync_count = sizeof pl_syncs / sizeof *pl_syncs;

const struct pl_sync *pl_sync_by_name(const char *name)
{
    for (int i = 0; i < pl_sync_count; i++)
        if (strcmp(pl_syncs[i]->name, name) == 0)
            return pl_syncs[i];
    return NULL;
}
