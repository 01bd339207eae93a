#include "measure/early.h"

#include <sched.h>

enum { TAG_ENTERS = 101, TAG_LEAVES };
/* How often `late` asks: each time others who share its core have a turn. */
enum { LOOKS = 100 };

static void tell(const struct pl_world *world, int late, int tag)
{
    PMPI_Send(NULL, 0, MPI_BYTE, late, tag, world->harness);
}

static void hear_all(const struct pl_world *world, int tag)
{
    for (int rank = 0; rank < world->size; rank++)
        if (rank != world->rank)
            PMPI_Recv(NULL, 0, MPI_BYTE, rank, tag, world->harness, MPI_STATUS_IGNORE);
}

int pl_early_before(const struct pl_world *world, int late)
{
    MPI_Status status;
    int through = 0;
    if (world->rank != late) {
        tell(world, late, TAG_ENTERS);
        return -1;
    }
    hear_all(world, TAG_ENTERS);
    for (int i = 0; i < LOOKS && !through; i++) {
        sched_yield();
        PMPI_Iprobe(MPI_ANY_SOURCE, TAG_LEAVES, world->harness, &through, &status);
    }
    return through ? status.MPI_SOURCE : -1;
}

void pl_early_after(const struct pl_world *world, int late)
{
    if (world->rank == late)
        hear_all(world, TAG_LEAVES);
    else
        tell(world, late, TAG_LEAVES);
}
