/* What the preload library costs, in nanoseconds a call: MPI_ and PMPI_ side by side in one run,
 * the fastest of many batches of each, taken in turns, on MPI_COMM_SELF. Bcast of 8 bytes;
 * Allgather of 1 KiB. The profile says whether their calls match. Prints: bcast_pmpi bcast_mpi
 * allgather_pmpi allgather_mpi */
#include <mpi.h>
#include <stdio.h>

enum { CALLS = 20000, BATCHES = 100, WAYS = 4 };

static char from[1024], to[1024];

static void call(int way)
{
    switch (way) {
    case 0:
        PMPI_Bcast(from, 8, MPI_BYTE, 0, MPI_COMM_SELF);
        break;
    case 1:
        MPI_Bcast(from, 8, MPI_BYTE, 0, MPI_COMM_SELF);
        break;
    case 2:
        PMPI_Allgather(from, 1024, MPI_BYTE, to, 1024, MPI_BYTE, MPI_COMM_SELF);
        break;
    default:
        MPI_Allgather(from, 1024, MPI_BYTE, to, 1024, MPI_BYTE, MPI_COMM_SELF);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    double fastest[WAYS] = {1, 1, 1, 1};
    for (int batch = 0; batch < BATCHES; batch++)
        for (int way = 0; way < WAYS; way++) {
            const double start = MPI_Wtime();
            for (int i = 0; i < CALLS; i++)
                call(way);
            const double seconds = MPI_Wtime() - start;
            fastest[way] = seconds < fastest[way] ? seconds : fastest[way];
        }
    for (int way = 0; way < WAYS; way++)
        printf("%.2f ", fastest[way] / CALLS * 1e9);
    printf("\n");
    MPI_Finalize();
    return 0;
}
