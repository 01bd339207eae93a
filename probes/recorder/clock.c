/* This rank's clock against rank 0's, by the fastest of some round trips. Ranks of one kernel have
 * one clock (`boot` in the header): what is measured there says what the measurement is worth. */
#include "recorder.h"

enum { ROUND_TRIPS = 20, TAG = 7 };

static void answer(MPI_Comm comm, int rank)
{
    for (int i = 0; i < ROUND_TRIPS; i++) {
        int64_t here;
        PMPI_Recv(NULL, 0, MPI_BYTE, rank, TAG, comm, MPI_STATUS_IGNORE);
        here = pl_now();
        PMPI_Send(&here, sizeof here, MPI_BYTE, rank, TAG, comm);
    }
}

void pl_compare_clocks(MPI_Comm comm, struct pl_clock_offset *offset)
{
    int rank, size;
    PMPI_Comm_rank(comm, &rank);
    PMPI_Comm_size(comm, &size);
    *offset = (struct pl_clock_offset){.at = pl_now(), .round_trip = rank == 0};
    if (rank == 0) {
        for (int other = 1; other < size; other++)
            answer(comm, other);
        return;
    }
    for (int i = 0; i < ROUND_TRIPS; i++) {
        int64_t theirs;
        const int64_t before = pl_now();
        PMPI_Send(NULL, 0, MPI_BYTE, 0, TAG, comm);
        PMPI_Recv(&theirs, sizeof theirs, MPI_BYTE, 0, TAG, comm, MPI_STATUS_IGNORE);
        const int64_t after = pl_now();
        if (i == 0 || after - before < offset->round_trip)
            *offset = (struct pl_clock_offset){.at = before + (after - before) / 2,
                                               .offset = theirs - before - (after - before) / 2,
                                               .round_trip = after - before};
    }
}
