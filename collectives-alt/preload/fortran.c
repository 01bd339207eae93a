/* The MPI functions that a Fortran application calls, under Open MPI, whose Fortran bindings call
 * PMPI_ functions and would pass by entry.c (those of MPICH call MPI_ functions, and need nothing).
 *
 * `mpi_bcast_` is called with mpif.h and with `use mpi`, `mpi_bcast_f08_` with `use mpi_f08`, by
 * compilers that append one underscore. Both pass the same: addresses. A handle of mpi_f08 is a
 * structure of one integer, buffers have no descriptors, and ierror may be missing. */
#include "preload.h"

#ifdef OPEN_MPI
#include <dlfcn.h>
#include <pthread.h>

#define EXPORT __attribute__((visibility("default")))

typedef const MPI_Fint *Integer;
_Static_assert(sizeof(MPI_Fint) == sizeof(int), "arrays of counts are passed as they are");

/* Constants of Fortran are variables: one for each way to write their name. They are looked for by
 * name, since a C application has none of them. */
enum { SPELLINGS = 4 };
static struct {
    const void *in_place[SPELLINGS], *bottom[SPELLINGS];
} constants;

static void find_constants(void)
{
    static const char *const in_place[SPELLINGS] = {"mpi_fortran_in_place_", "mpi_fortran_in_place",
                                                    "mpi_fortran_in_place__",
                                                    "MPI_FORTRAN_IN_PLACE"};
    static const char *const bottom[SPELLINGS] = {"mpi_fortran_bottom_", "mpi_fortran_bottom",
                                                  "mpi_fortran_bottom__", "MPI_FORTRAN_BOTTOM"};
    for (int i = 0; i < SPELLINGS; i++) {
        constants.in_place[i] = dlsym(RTLD_DEFAULT, in_place[i]);
        constants.bottom[i] = dlsym(RTLD_DEFAULT, bottom[i]);
    }
}

static void *address(void *buffer)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_constants);
    for (int i = 0; buffer && i < SPELLINGS; i++) {
        if (buffer == constants.in_place[i])
            return MPI_IN_PLACE;
        if (buffer == constants.bottom[i])
            return MPI_BOTTOM;
    }
    return buffer;
}

#define TYPE(handle) PMPI_Type_f2c(*(handle))
#define OP(handle) PMPI_Op_f2c(*(handle))
#define COMM(handle) PMPI_Comm_f2c(*(handle))

/* One subroutine under both names, and its C function. */
#define SUBROUTINE(name, parameters, call)                                                         \
    EXPORT void mpi_##name##_ parameters;                                                          \
    EXPORT void mpi_##name##_f08_ parameters __attribute__((alias("mpi_" #name "_")));             \
    void mpi_##name##_ parameters                                                                  \
    {                                                                                              \
        const int rc = call;                                                                       \
        if (ierror)                                                                                \
            *ierror = rc;                                                                          \
    }

/* What most of them have in common. */
#define IERROR MPI_Fint *ierror
#define LAST Integer comm, MPI_Fint *ierror
#define SEND void *sendbuf, Integer sendcount, Integer sendtype
#define SENDV void *sendbuf, Integer sendcounts, Integer sdispls, Integer sendtype
#define RECV void *recvbuf, Integer recvcount, Integer recvtype
#define RECVV void *recvbuf, Integer recvcounts, Integer rdispls, Integer recvtype
#define SENT address(sendbuf), *sendcount, TYPE(sendtype)
#define SENTV address(sendbuf), sendcounts, sdispls, TYPE(sendtype)
#define RECEIVED address(recvbuf), *recvcount, TYPE(recvtype)
#define RECEIVEDV address(recvbuf), recvcounts, rdispls, TYPE(recvtype)
#define OPERANDS void *sendbuf, void *recvbuf, Integer count, Integer type, Integer op
#define REDUCED address(sendbuf), address(recvbuf), *count, TYPE(type), OP(op)

static int merge(MPI_Comm comm, MPI_Fint high, MPI_Fint *merged)
{
    MPI_Comm both = MPI_COMM_NULL;
    const int rc = MPI_Intercomm_merge(comm, high != 0, &both);
    if (rc == MPI_SUCCESS)
        *merged = PMPI_Comm_c2f(both);
    return rc;
}

/* clang-format off */
SUBROUTINE(init, (IERROR), MPI_Init(NULL, NULL))
SUBROUTINE(init_thread, (Integer required, MPI_Fint *provided, IERROR),
           MPI_Init_thread(NULL, NULL, *required, provided))
SUBROUTINE(finalize, (IERROR), MPI_Finalize())
SUBROUTINE(intercomm_merge, (Integer comm, Integer high, MPI_Fint *merged, IERROR),
           merge(COMM(comm), *high, merged))
SUBROUTINE(barrier, (LAST), MPI_Barrier(COMM(comm)))
SUBROUTINE(bcast, (RECV, Integer root, LAST), MPI_Bcast(RECEIVED, *root, COMM(comm)))
SUBROUTINE(gather, (SEND, RECV, Integer root, LAST),
           MPI_Gather(SENT, RECEIVED, *root, COMM(comm)))
SUBROUTINE(gatherv, (SEND, RECVV, Integer root, LAST),
           MPI_Gatherv(SENT, RECEIVEDV, *root, COMM(comm)))
SUBROUTINE(scatter, (SEND, RECV, Integer root, LAST),
           MPI_Scatter(SENT, RECEIVED, *root, COMM(comm)))
SUBROUTINE(scatterv, (SENDV, RECV, Integer root, LAST),
           MPI_Scatterv(SENTV, RECEIVED, *root, COMM(comm)))
SUBROUTINE(allgather, (SEND, RECV, LAST), MPI_Allgather(SENT, RECEIVED, COMM(comm)))
SUBROUTINE(allgatherv, (SEND, RECVV, LAST), MPI_Allgatherv(SENT, RECEIVEDV, COMM(comm)))
SUBROUTINE(alltoall, (SEND, RECV, LAST), MPI_Alltoall(SENT, RECEIVED, COMM(comm)))
SUBROUTINE(alltoallv, (SENDV, RECVV, LAST), MPI_Alltoallv(SENTV, RECEIVEDV, COMM(comm)))
SUBROUTINE(reduce, (OPERANDS, Integer root, LAST),
           MPI_Reduce(REDUCED, *root, COMM(comm)))
SUBROUTINE(allreduce, (OPERANDS, LAST), MPI_Allreduce(REDUCED, COMM(comm)))
SUBROUTINE(reduce_scatter_block, (OPERANDS, LAST),
           MPI_Reduce_scatter_block(REDUCED, COMM(comm)))
SUBROUTINE(reduce_scatter,
           (void *sendbuf, void *recvbuf, Integer counts, Integer type, Integer op, LAST),
           MPI_Reduce_scatter(address(sendbuf), address(recvbuf), counts, TYPE(type), OP(op),
                              COMM(comm)))
SUBROUTINE(scan, (OPERANDS, LAST), MPI_Scan(REDUCED, COMM(comm)))
SUBROUTINE(exscan, (OPERANDS, LAST), MPI_Exscan(REDUCED, COMM(comm)))
/* clang-format on */
#endif
