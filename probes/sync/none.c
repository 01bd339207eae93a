/* No scheme: repetitions follow each other, ranks drift as far apart as the function lets them.
 * Shows throughput, and what the barrier adds. */
#include "sync/sync.h"

static bool start(struct pl_start *start)
{
    (void)start;
    return true;
}

const struct pl_sync pl_sync_none = {
    .name = "none",
    .summary = "repetitions follow each other without synchronisation",
    .start = start,
};
