/* What the preload library has replaced, read through PAPI by the program itself. Compile it by
 * `mpicc events.c -o events -lpapi`; start it as docs/profile.md says. */
#include <mpi.h>
#include <papi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    long long counts[2] = {0};
    int rank, set = PAPI_NULL, value = 1, sum;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (PAPI_library_init(PAPI_VER_CURRENT) != PAPI_VER_CURRENT ||
        PAPI_create_eventset(&set) != PAPI_OK ||
        PAPI_add_named_event(set, "sde:::plumbline::MPI_Allreduce.calls") != PAPI_OK ||
        PAPI_add_named_event(set, "sde:::plumbline::MPI_Allreduce.replaced") != PAPI_OK)
        MPI_Abort(MPI_COMM_WORLD, 1);
    PAPI_start(set);
    for (int i = 0; i < 10; i++)
        MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    PAPI_stop(set, counts);
    if (rank == 0)
        printf("%lld of %lld calls replaced\n", counts[1], counts[0]);
    return MPI_Finalize();
}
