/* The table of clock synchronisation algorithms. */
#include "clock/algorithms/algorithms.h"

#include <stddef.h>

#define PL_CLOCK_SYNC(name) extern const struct pl_clock_sync pl_clock_sync_##name;
#include "clock/algorithms/algorithms.def"
#undef PL_CLOCK_SYNC

const struct pl_clock_sync *const pl_clock_syncs[] = {
#define PL_CLOCK_SYNC(name) &pl_clock_sync_##name,
#include "clock/algorithms/algorithms.def"
#undef PL_CLOCK_SYNC
};
const int pl_clock_sync_count = sizeof pl_clock_syncs / sizeof *pl_clock_syncs;
