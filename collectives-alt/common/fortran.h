/* The functions that a Fortran application calls, under Open MPI, whose Fortran bindings call PMPI_
 * functions and would pass by those that stand in front of MPI (those of MPICH call MPI_ functions,
 * and need nothing).
 *
 * `mpi_bcast_` is called with mpif.h and with `use mpi`, `mpi_bcast_f08_` with `use mpi_f08`, by
 * compilers that append one underscore. Both pass the same: addresses. A handle of mpi_f08 is a
 * structure of one integer, buffers have no descriptors, and ierror may be missing. */
#ifndef PL_FORTRAN_H
#define PL_FORTRAN_H

#include <dlfcn.h>
#include <mpi.h>
#include <pthread.h>

typedef const MPI_Fint *Integer;
_Static_assert(sizeof(MPI_Fint) == sizeof(int), "arrays of counts are passed as they are");

/* Constants of Fortran are variables: one for each way to write their name. They are looked for by
 * name, since a C application has none of them. */
enum { SPELLINGS = 4 };
static struct constants {
    const void *in_place[SPELLINGS], *bottom[SPELLINGS];
    const void *ignored[SPELLINGS], *all_ignored[SPELLINGS]; /* statuses */
} constants;

#define FIND(constant, lower, upper)                                                               \
    do {                                                                                           \
        const char *const names[SPELLINGS] = {lower "_", lower, lower "__", upper};                \
        for (int i = 0; i < SPELLINGS; i++)                                                        \
            constants.constant[i] = dlsym(RTLD_DEFAULT, names[i]);                                 \
    } while (0)

static void find_constants(void)
{
    FIND(in_place, "mpi_fortran_in_place", "MPI_FORTRAN_IN_PLACE");
    FIND(bottom, "mpi_fortran_bottom", "MPI_FORTRAN_BOTTOM");
    FIND(ignored, "mpi_fortran_status_ignore", "MPI_FORTRAN_STATUS_IGNORE");
    FIND(all_ignored, "mpi_fortran_statuses_ignore", "MPI_FORTRAN_STATUSES_IGNORE");
}

static const struct constants *known_constants(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_constants);
    return &constants;
}

static void *address(void *buffer)
{
    const struct constants *known = known_constants();
    for (int i = 0; buffer && i < SPELLINGS; i++) {
        if (buffer == known->in_place[i])
            return MPI_IN_PLACE;
        if (buffer == known->bottom[i])
            return MPI_BOTTOM;
    }
    return buffer;
}

#define TYPE(handle) PMPI_Type_f2c(*(handle))
#define OP(handle) PMPI_Op_f2c(*(handle))
#define COMM(handle) PMPI_Comm_f2c(*(handle))

/* One subroutine under both names, with `rc` for what it tells. */
#define NAMED(name, parameters, ...)                                                               \
    EXPORT void mpi_##name##_ parameters;                                                          \
    EXPORT void mpi_##name##_f08_ parameters __attribute__((alias("mpi_" #name "_")));             \
    void mpi_##name##_ parameters                                                                  \
    {                                                                                              \
        int rc;                                                                                    \
        __VA_ARGS__                                                                                \
        if (ierror)                                                                                \
            *ierror = rc;                                                                          \
    }

/* One that calls its C function. */
#define SUBROUTINE(name, parameters, call) NAMED(name, parameters, rc = call;)

/* One that makes a handle in C: `made`. */
#define MAKER(name, parameters, kind, result, call)                                                \
    NAMED(name, parameters, MPI_##kind made = PMPI_##kind##_f2c(*(result)); rc = call;             \
          if (rc == MPI_SUCCESS) * (result) = PMPI_##kind##_c2f(made);)

#define IERROR MPI_Fint *ierror

/* clang-format off */
/* As in shapes.h: parameters, with what comes behind them, and arguments in C. */
#define P_SEND void *sendbuf, Integer sendcount, Integer sendtype
#define P_SENDV void *sendbuf, Integer sendcounts, Integer sdispls, Integer sendtype
#define P_RECV void *recvbuf, Integer recvcount, Integer recvtype
#define P_RECVV void *recvbuf, Integer recvcounts, Integer rdispls, Integer recvtype
#define G_SEND address(sendbuf), *sendcount, TYPE(sendtype)
#define G_SENDV address(sendbuf), sendcounts, sdispls, TYPE(sendtype)
#define G_RECV address(recvbuf), *recvcount, TYPE(recvtype)
#define G_RECVV address(recvbuf), recvcounts, rdispls, TYPE(recvtype)
#define P_OPERANDS void *sendbuf, void *recvbuf, Integer count, Integer type, Integer op
#define G_OPERANDS(count) address(sendbuf), address(recvbuf), count, TYPE(type), OP(op)
#define P_BARRIER(...) (Integer comm, __VA_ARGS__)
#define G_BARRIER COMM(comm)
#define P_BCAST(...) (P_RECV, Integer root, Integer comm, __VA_ARGS__)
#define G_BCAST G_RECV, *root, COMM(comm)
#define P_ROOTED(...) (P_SEND, P_RECV, Integer root, Integer comm, __VA_ARGS__)
#define G_ROOTED G_SEND, G_RECV, *root, COMM(comm)
#define P_GATHERV(...) (P_SEND, P_RECVV, Integer root, Integer comm, __VA_ARGS__)
#define G_GATHERV G_SEND, G_RECVV, *root, COMM(comm)
#define P_SCATTERV(...) (P_SENDV, P_RECV, Integer root, Integer comm, __VA_ARGS__)
#define G_SCATTERV G_SENDV, G_RECV, *root, COMM(comm)
#define P_BLOCKS(...) (P_SEND, P_RECV, Integer comm, __VA_ARGS__)
#define G_BLOCKS G_SEND, G_RECV, COMM(comm)
#define P_ALLGATHERV(...) (P_SEND, P_RECVV, Integer comm, __VA_ARGS__)
#define G_ALLGATHERV G_SEND, G_RECVV, COMM(comm)
#define P_ALLTOALLV(...) (P_SENDV, P_RECVV, Integer comm, __VA_ARGS__)
#define G_ALLTOALLV G_SENDV, G_RECVV, COMM(comm)
#define P_ALLTOALLW(...) P_ALLTOALLV(__VA_ARGS__) /* each datatype is the first of as many */
#define P_REDUCE(...) (P_OPERANDS, Integer root, Integer comm, __VA_ARGS__)
#define G_REDUCE G_OPERANDS(*count), *root, COMM(comm)
#define P_REDUCED(...) (P_OPERANDS, Integer comm, __VA_ARGS__)
#define G_REDUCED G_OPERANDS(*count), COMM(comm)
#define P_REDUCE_SCATTER(...) (P_OPERANDS, Integer comm, __VA_ARGS__)
#define G_REDUCE_SCATTER G_OPERANDS(count), COMM(comm)

/* What both wrap that is no collective of data. */
SUBROUTINE(init, (IERROR), MPI_Init(NULL, NULL))
SUBROUTINE(init_thread, (Integer required, MPI_Fint *provided, IERROR),
           MPI_Init_thread(NULL, NULL, *required, provided))
SUBROUTINE(finalize, (IERROR), MPI_Finalize())
MAKER(intercomm_merge, (Integer comm, Integer high, MPI_Fint *other, IERROR), Comm, other,
      MPI_Intercomm_merge(COMM(comm), *high != 0, &made))
/* clang-format on */

#endif
