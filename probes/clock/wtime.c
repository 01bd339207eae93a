/* MPI_Wtime: what applications and most benchmarks use. A double in seconds, so its step grows with
 * the distance from the library's origin. Open MPI 4.1 puts that origin at the start of each
 * process, so two processes of a node read different times: not shared, whatever
 * MPI_WTIME_IS_GLOBAL says. */
#include "clock/clock.h"

#include <mpi.h>

static int64_t now_ns(void)
{
    return (int64_t)(PMPI_Wtime() * 1e9);
}

const struct pl_clock pl_clock_wtime = {
    .name = "wtime",
    .summary = "MPI_Wtime of the library",
    .now_ns = now_ns,
};
