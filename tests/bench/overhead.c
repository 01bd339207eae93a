/* What the preload library costs, in nanoseconds a call: MPI_ and PMPI_ side by side in one run,
 * the fastest of many batches of each, taken in turns, on 2 ranks. The calls are empty, so that no
 * message is sent: Bcast, Allgather and Reduce_scatter of 0 bytes. The profile says whether they
 * match. Prints on rank 0: bcast_pmpi bcast_mpi allgather_pmpi allgather_mpi reduce_scatter_pmpi
 * reduce_scatter_mpi */
#include <mpi.h>
#include <stdio.h>

enum { CALLS = 20000, BATCHES = 100, WAYS = 6, RANKS = 64 };

static char from[1], to[1];
static const int counts[RANKS];

static void call(int way)
{
    switch (way) {
    case 0:
        PMPI_Bcast(from, 0, MPI_BYTE, 0, MPI_COMM_WORLD);
        break;
    case 1:
        MPI_Bcast(from, 0, MPI_BYTE, 0, MPI_COMM_WORLD);
        break;
    case 2:
        PMPI_Allgather(from, 0, MPI_BYTE, to, 0, MPI_BYTE, MPI_COMM_WORLD);
        break;
    case 3:
        MPI_Allgather(from, 0, MPI_BYTE, to, 0, MPI_BYTE, MPI_COMM_WORLD);
        break;
    case 4:
        PMPI_Reduce_scatter(from, to, counts, MPI_BYTE, MPI_BOR, MPI_COMM_WORLD);
        break;
    default:
        MPI_Reduce_scatter(from, to, counts, MPI_BYTE, MPI_BOR, MPI_COMM_WORLD);
    }
}

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    double fastest[WAYS] = {1, 1, 1, 1, 1, 1};
    for (int batch = 0; batch < BATCHES; batch++)
        for (int way = 0; way < WAYS; way++) {
            const double start = MPI_Wtime();
            for (int i = 0; i < CALLS; i++)
                call(way);
            const double seconds = MPI_Wtime() - start;
            fastest[way] = seconds < fastest[way] ? seconds : fastest[way];
        }
    for (int way = 0; rank == 0 && way < WAYS; way++)
        printf("%.2f%c", fastest[way] / CALLS * 1e9, way + 1 < WAYS ? ' ' : '\n');
    MPI_Finalize();
    return 0;
}
