/* A preload library that writes down what processor time each rank takes from MPI_Init to
 * MPI_Finalize, in seconds: PLUMBLINE_TEST_USAGE.<rank>. */
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

static double start;

static double seconds(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

int MPI_Init(int *argc, char ***argv)
{
    int rc = PMPI_Init(argc, argv);
    start = seconds();
    return rc;
}

int MPI_Finalize(void)
{
    char name[4096];
    int rank;
    double used = seconds() - start;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    snprintf(name, sizeof name, "%s.%d", getenv("PLUMBLINE_TEST_USAGE"), rank);
    FILE *out = fopen(name, "w");
    fprintf(out, "%f\n", used);
    fclose(out);
    return PMPI_Finalize();
}
