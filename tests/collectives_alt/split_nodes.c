/* Loaded before an application: nodes of PL_TEST_PPN ranks, on one machine. */
#include <mpi.h>
#include <stdlib.h>

int PMPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *made)
{
    int rank;
    (void)type;
    (void)info;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return PMPI_Comm_split(comm, rank / atoi(getenv("PL_TEST_PPN")), key, made);
}
