/* The table of start schemes. */
#include "sync/sync.h"

#include <stddef.h>

const struct pl_sync *const pl_syncs[] = {
#define PL_SYNC(name) &pl_sync_##name,
#include "sync/syncs.def"
#undef PL_SYNC
};
const int pl_sync_count = sizeof pl_syncs / sizeof *pl_syncs;
