/* The MPI functions that a Fortran application calls: see fortran.h. */
#include "preload.h"
#include "tools.h"

#ifdef OPEN_MPI
#define EXPORT __attribute__((visibility("default")))
#include "fortran.h"

#include <stdlib.h>

/* A handle of Fortran for each of `count` ranks as one of C; to be freed. */
static MPI_Datatype *types_of(Integer handles, int count)
{
    MPI_Datatype *types = malloc(((size_t)count + 1) * sizeof *types);
    for (int i = 0; types && i < count; i++)
        types[i] = TYPE(&handles[i]);
    return types;
}

/* As many ranks as a call of this communicator has blocks for. */
static int peers_on(MPI_Comm comm)
{
    int inter = 0, count = 0;
    if (comm == MPI_COMM_NULL)
        return 0;
    PMPI_Comm_test_inter(comm, &inter);
    if (inter)
        PMPI_Comm_remote_size(comm, &count);
    else
        PMPI_Comm_size(comm, &count);
    return count;
}

/* Datatypes that are sent are not looked at in place. */
static int alltoallw(const void *sendbuf, Integer sendcounts, Integer sdispls, Integer sendtypes,
                     void *recvbuf, Integer recvcounts, Integer rdispls, Integer recvtypes,
                     MPI_Comm comm)
{
    const int count = peers_on(comm);
    MPI_Datatype *const in = types_of(recvtypes, count);
    MPI_Datatype *const out = types_of(sendtypes, sendbuf == MPI_IN_PLACE ? 0 : count);
    const int rc = in && out ? MPI_Alltoallw(sendbuf, sendcounts, sdispls, out, recvbuf, recvcounts,
                                             rdispls, in, comm)
                             : pl_raise(comm, MPI_ERR_NO_MEM);
    free(in);
    free(out);
    return rc;
}

#define PL_COLLECTIVE(name, Name, SHAPE) SUBROUTINE(name, P_##SHAPE(IERROR), MPI_##Name(G_##SHAPE))
#define PL_COLLECTIVE_TYPES(name, Name, SHAPE)                                                     \
    SUBROUTINE(name, P_##SHAPE(IERROR),                                                            \
               alltoallw(address(sendbuf), sendcounts, sdispls, sendtype, address(recvbuf),        \
                         recvcounts, rdispls, recvtype, COMM(comm)))
#include "collectives.def"
#endif
