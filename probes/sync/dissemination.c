/* Dissemination barrier (Hensgen, Finkel and Manber, Two algorithms for barrier synchronization,
 * International Journal of Parallel Programming 17, 1988): in round k every rank tells the one 2^k
 * further on and hears from the one 2^k before it; after ⌈log2 p⌉ rounds each has heard of all.
 * Our own, so that the same barrier stands before every library and configuration, whatever their
 * MPI_Barrier does. Cost ⌈log2 p⌉ α. */
#include "measure/world.h"
#include "sync/sync.h"

static bool start(struct pl_start *start)
{
    pl_p2p_barrier(start->world);
    return true;
}

const struct pl_sync pl_sync_dissemination = {
    .name = "dissemination",
    .summary = "own dissemination barrier before each repetition",
    .meets = true,
    .start = start,
};
