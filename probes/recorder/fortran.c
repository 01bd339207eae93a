/* The functions that a Fortran application calls, under Open MPI, whose Fortran bindings call PMPI_
 * functions (those of MPICH call MPI_ functions, and need nothing). As in
 * collectives-alt/preload/fortran.c: `mpi_send_` is called with mpif.h and with `use mpi`,
 * `mpi_send_f08_` with `use mpi_f08`. Statuses are integers here, of the size of a structure there:
 * both hold what MPI_Status does. */
#include "recorder.h"

#ifdef OPEN_MPI
#include <dlfcn.h>
#include <stdlib.h>

typedef const MPI_Fint *Integer;
_Static_assert(sizeof(MPI_Fint) == sizeof(int), "arrays of counts are passed as they are");

/* Constants of Fortran are variables: one for each way to write their name. They are looked for by
 * name, since a C application has none of them. */
enum { SPELLINGS = 4 };
struct constant {
    const char *names[SPELLINGS];
    const void *at[SPELLINGS];
};
#define CONSTANT(lower, upper)                                                                     \
    {                                                                                              \
        .names = { lower "_", lower, lower "__", upper }                                           \
    }
static struct constant in_place = CONSTANT("mpi_fortran_in_place", "MPI_FORTRAN_IN_PLACE"),
                       bottom = CONSTANT("mpi_fortran_bottom", "MPI_FORTRAN_BOTTOM"),
                       ignored = CONSTANT("mpi_fortran_status_ignore", "MPI_FORTRAN_STATUS_IGNORE"),
                       all_ignored =
                           CONSTANT("mpi_fortran_statuses_ignore", "MPI_FORTRAN_STATUSES_IGNORE");

static void find_constants(void)
{
    struct constant *const constants[] = {&in_place, &bottom, &ignored, &all_ignored};
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < SPELLINGS; k++)
            constants[i]->at[k] = dlsym(RTLD_DEFAULT, constants[i]->names[k]);
}

static bool is(const struct constant *constant, const void *address)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_constants);
    for (int i = 0; address && i < SPELLINGS; i++)
        if (address == constant->at[i])
            return true;
    return false;
}

static void *address(void *buffer)
{
    return is(&in_place, buffer) ? MPI_IN_PLACE : is(&bottom, buffer) ? MPI_BOTTOM : buffer;
}

/* A status of an application that may want none. */
static int hand_back(int rc, const MPI_Status *own, MPI_Fint *status)
{
    if (status && !is(&ignored, status))
        PMPI_Status_c2f(own, status);
    return rc;
}

enum { WORDS = sizeof(MPI_Status) / sizeof(MPI_Fint) };

/* Handles of several requests in C, and their statuses; freed by give_back. */
struct several {
    MPI_Request *requests;
    MPI_Status *statuses;
};

static bool take(struct several *several, int count, const MPI_Fint requests[])
{
    const size_t room = (size_t)(count > 0 ? count : 0) + 1;
    several->requests = malloc(room * sizeof *several->requests);
    several->statuses = malloc(room * sizeof *several->statuses);
    for (int i = 0; several->requests && several->statuses && i < count; i++)
        several->requests[i] = PMPI_Request_f2c(requests[i]);
    return several->requests && several->statuses;
}

static void give_back(struct several *several, int count, MPI_Fint requests[], int done,
                      MPI_Fint statuses[])
{
    for (int i = 0; i < count; i++)
        requests[i] = PMPI_Request_c2f(several->requests[i]);
    for (int i = 0; statuses && !is(&all_ignored, statuses) && i < done; i++)
        PMPI_Status_c2f(&several->statuses[i], statuses + (size_t)i * WORDS);
    free(several->requests);
    free(several->statuses);
}

static int wait_for(MPI_Request *made, MPI_Fint *status)
{
    MPI_Status own;
    return hand_back(MPI_Wait(made, &own), &own, status);
}

static int test_for(MPI_Request *made, MPI_Fint *flag, MPI_Fint *status)
{
    MPI_Status own;
    int done = 0;
    const int rc = MPI_Test(made, &done, &own);
    *flag = done; /* as .true. is 1 */
    return done ? hand_back(rc, &own, status) : rc;
}

#define TYPE(handle) PMPI_Type_f2c(*(handle))
#define OP(handle) PMPI_Op_f2c(*(handle))
#define COMM(handle) PMPI_Comm_f2c(*(handle))
#define INFO(handle) PMPI_Info_f2c(*(handle))
#define GROUP(handle) PMPI_Group_f2c(*(handle))

/* One subroutine under both names. */
#define NAMED(name, parameters)                                                                    \
    EXPORT void mpi_##name##_ parameters;                                                          \
    EXPORT void mpi_##name##_f08_ parameters __attribute__((alias("mpi_" #name "_")));             \
    void mpi_##name##_ parameters

/* And what it calls. */
#define SUBROUTINE(name, parameters, call)                                                         \
    NAMED(name, parameters)                                                                        \
    {                                                                                              \
        const int rc = call;                                                                       \
        if (ierror)                                                                                \
            *ierror = rc;                                                                          \
    }

/* One that makes a handle in C: `made`. */
#define MAKER(name, parameters, kind, result, call)                                                \
    NAMED(name, parameters)                                                                        \
    {                                                                                              \
        MPI_##kind made = PMPI_##kind##_f2c(*(result));                                            \
        const int rc = call;                                                                       \
        if (rc == MPI_SUCCESS)                                                                     \
            *(result) = PMPI_##kind##_c2f(made);                                                   \
        if (ierror)                                                                                \
            *ierror = rc;                                                                          \
    }

#define IERROR MPI_Fint *ierror
#define LAST Integer comm, MPI_Fint *ierror
#define SEND void *buf, Integer count, Integer type, Integer dest, Integer tag, Integer comm
#define SENT address(buf), *count, TYPE(type), *dest, *tag, COMM(comm)
#define RECV void *buf, Integer count, Integer type, Integer source, Integer tag, Integer comm
#define RECEIVED address(buf), *count, TYPE(type), *source, *tag, COMM(comm)
#define BOTH                                                                                       \
    void *out, Integer outs, Integer outtype, Integer dest, Integer outtag, void *in, Integer ins, \
        Integer intype, Integer source, Integer intag, Integer comm
#define EXCHANGED                                                                                  \
    address(out), *outs, TYPE(outtype), *dest, *outtag, address(in), *ins, TYPE(intype), *source,  \
        *intag, COMM(comm)
#define REQUEST MPI_Fint *request, MPI_Fint *ierror
#define STATUS MPI_Fint *status, MPI_Fint *ierror
#define WITH_STATUS(name, parameters, call)                                                        \
    NAMED(name, parameters)                                                                        \
    {                                                                                              \
        MPI_Status own;                                                                            \
        const int rc = hand_back(call, &own, status);                                              \
        if (ierror)                                                                                \
            *ierror = rc;                                                                          \
    }

/* clang-format off */
SUBROUTINE(init, (IERROR), MPI_Init(NULL, NULL))
SUBROUTINE(init_thread, (Integer required, MPI_Fint *provided, IERROR),
           MPI_Init_thread(NULL, NULL, *required, provided))
SUBROUTINE(finalize, (IERROR), MPI_Finalize())

SUBROUTINE(send, (SEND, IERROR), MPI_Send(SENT))
SUBROUTINE(bsend, (SEND, IERROR), MPI_Bsend(SENT))
SUBROUTINE(ssend, (SEND, IERROR), MPI_Ssend(SENT))
SUBROUTINE(rsend, (SEND, IERROR), MPI_Rsend(SENT))
MAKER(isend, (SEND, REQUEST), Request, request, MPI_Isend(SENT, &made))
MAKER(ibsend, (SEND, REQUEST), Request, request, MPI_Ibsend(SENT, &made))
MAKER(issend, (SEND, REQUEST), Request, request, MPI_Issend(SENT, &made))
MAKER(irsend, (SEND, REQUEST), Request, request, MPI_Irsend(SENT, &made))
MAKER(send_init, (SEND, REQUEST), Request, request, MPI_Send_init(SENT, &made))
MAKER(bsend_init, (SEND, REQUEST), Request, request, MPI_Bsend_init(SENT, &made))
MAKER(ssend_init, (SEND, REQUEST), Request, request, MPI_Ssend_init(SENT, &made))
MAKER(rsend_init, (SEND, REQUEST), Request, request, MPI_Rsend_init(SENT, &made))
WITH_STATUS(recv, (RECV, STATUS), MPI_Recv(RECEIVED, &own))
MAKER(irecv, (RECV, REQUEST), Request, request, MPI_Irecv(RECEIVED, &made))
MAKER(recv_init, (RECV, REQUEST), Request, request, MPI_Recv_init(RECEIVED, &made))
WITH_STATUS(sendrecv, (BOTH, STATUS), MPI_Sendrecv(EXCHANGED, &own))
WITH_STATUS(sendrecv_replace,
            (void *buf, Integer count, Integer type, Integer dest, Integer outtag, Integer source,
             Integer intag, Integer comm, STATUS),
            MPI_Sendrecv_replace(address(buf), *count, TYPE(type), *dest, *outtag, *source, *intag,
                                 COMM(comm), &own))

MAKER(start, (REQUEST), Request, request, MPI_Start(&made))
MAKER(cancel, (REQUEST), Request, request, MPI_Cancel(&made))
MAKER(request_free, (REQUEST), Request, request, MPI_Request_free(&made))
MAKER(wait, (MPI_Fint *request, STATUS), Request, request, wait_for(&made, status))
MAKER(test, (MPI_Fint *request, MPI_Fint *flag, STATUS), Request, request,
      test_for(&made, flag, status))

MAKER(comm_dup, (Integer comm, MPI_Fint *other, IERROR), Comm, other, MPI_Comm_dup(COMM(comm), &made))
MAKER(comm_create, (Integer comm, Integer group, MPI_Fint *other, IERROR), Comm, other,
      MPI_Comm_create(COMM(comm), GROUP(group), &made))
MAKER(comm_create_group, (Integer comm, Integer group, Integer tag, MPI_Fint *other, IERROR), Comm,
      other, MPI_Comm_create_group(COMM(comm), GROUP(group), *tag, &made))
MAKER(comm_split, (Integer comm, Integer colour, Integer key, MPI_Fint *other, IERROR), Comm, other,
      MPI_Comm_split(COMM(comm), *colour, *key, &made))
MAKER(comm_split_type,
      (Integer comm, Integer type, Integer key, Integer info, MPI_Fint *other, IERROR), Comm, other,
      MPI_Comm_split_type(COMM(comm), *type, *key, INFO(info), &made))
MAKER(intercomm_create,
      (Integer local, Integer leader, Integer peer, Integer distant, Integer tag, MPI_Fint *other,
       IERROR), Comm, other,
      MPI_Intercomm_create(COMM(local), *leader, COMM(peer), *distant, *tag, &made))
MAKER(intercomm_merge, (Integer comm, Integer high, MPI_Fint *other, IERROR), Comm, other,
      MPI_Intercomm_merge(COMM(comm), *high != 0, &made))

#define COLL_SEND void *sendbuf, Integer sendcount, Integer sendtype
#define COLL_SENDV void *sendbuf, Integer sendcounts, Integer sdispls, Integer sendtype
#define COLL_RECV void *recvbuf, Integer recvcount, Integer recvtype
#define COLL_RECVV void *recvbuf, Integer recvcounts, Integer rdispls, Integer recvtype
#define GIVEN address(sendbuf), *sendcount, TYPE(sendtype)
#define GIVENV address(sendbuf), sendcounts, sdispls, TYPE(sendtype)
#define GOT address(recvbuf), *recvcount, TYPE(recvtype)
#define GOTV address(recvbuf), recvcounts, rdispls, TYPE(recvtype)
#define OPERANDS void *sendbuf, void *recvbuf, Integer count, Integer type, Integer op
#define REDUCED address(sendbuf), address(recvbuf), *count, TYPE(type), OP(op)

/* A collective, its form with a request, and the persistent one. */
#define COLLECTIVE(name, PARAMETERS, function, ifunction, ...)                                     \
    SUBROUTINE(name, PARAMETERS(IERROR), function(__VA_ARGS__))                                    \
    MAKER(i##name, PARAMETERS(REQUEST), Request, request, ifunction(__VA_ARGS__, &made))           \
    PERSISTENT(name, PARAMETERS, function##_init, __VA_ARGS__)
#ifdef PL_PARTITIONS
#define PERSISTENT(name, PARAMETERS, function, ...)                                                \
    MAKER(name##_init, PARAMETERS(Integer info, REQUEST), Request, request,                        \
          function(__VA_ARGS__, INFO(info), &made))
#else
#define PERSISTENT(name, PARAMETERS, function, ...)
#endif
#define P_BARRIER(...) (Integer comm, __VA_ARGS__)
#define P_BCAST(...) (COLL_RECV, Integer root, Integer comm, __VA_ARGS__)
#define P_ROOTED(...) (COLL_SEND, COLL_RECV, Integer root, Integer comm, __VA_ARGS__)
#define P_GATHERV(...) (COLL_SEND, COLL_RECVV, Integer root, Integer comm, __VA_ARGS__)
#define P_SCATTERV(...) (COLL_SENDV, COLL_RECV, Integer root, Integer comm, __VA_ARGS__)
#define P_ALL(...) (COLL_SEND, COLL_RECV, Integer comm, __VA_ARGS__)
#define P_ALLGATHERV(...) (COLL_SEND, COLL_RECVV, Integer comm, __VA_ARGS__)
#define P_ALLTOALLV(...) (COLL_SENDV, COLL_RECVV, Integer comm, __VA_ARGS__)
#define P_REDUCE(...) (OPERANDS, Integer root, Integer comm, __VA_ARGS__)
#define P_REDUCED(...) (OPERANDS, Integer comm, __VA_ARGS__)
#define P_REDUCE_SCATTER(...)                                                                      \
    (void *sendbuf, void *recvbuf, Integer counts, Integer type, Integer op, Integer comm,         \
     __VA_ARGS__)
COLLECTIVE(barrier, P_BARRIER, MPI_Barrier, MPI_Ibarrier, COMM(comm))
COLLECTIVE(bcast, P_BCAST, MPI_Bcast, MPI_Ibcast, GOT, *root, COMM(comm))
COLLECTIVE(gather, P_ROOTED, MPI_Gather, MPI_Igather, GIVEN, GOT, *root, COMM(comm))
COLLECTIVE(gatherv, P_GATHERV, MPI_Gatherv, MPI_Igatherv, GIVEN, GOTV, *root, COMM(comm))
COLLECTIVE(scatter, P_ROOTED, MPI_Scatter, MPI_Iscatter, GIVEN, GOT, *root, COMM(comm))
COLLECTIVE(scatterv, P_SCATTERV, MPI_Scatterv, MPI_Iscatterv, GIVENV, GOT, *root, COMM(comm))
COLLECTIVE(allgather, P_ALL, MPI_Allgather, MPI_Iallgather, GIVEN, GOT, COMM(comm))
COLLECTIVE(allgatherv, P_ALLGATHERV, MPI_Allgatherv, MPI_Iallgatherv, GIVEN, GOTV, COMM(comm))
COLLECTIVE(alltoall, P_ALL, MPI_Alltoall, MPI_Ialltoall, GIVEN, GOT, COMM(comm))
COLLECTIVE(alltoallv, P_ALLTOALLV, MPI_Alltoallv, MPI_Ialltoallv, GIVENV, GOTV, COMM(comm))
COLLECTIVE(reduce, P_REDUCE, MPI_Reduce, MPI_Ireduce, REDUCED, *root, COMM(comm))
COLLECTIVE(allreduce, P_REDUCED, MPI_Allreduce, MPI_Iallreduce, REDUCED, COMM(comm))
COLLECTIVE(reduce_scatter_block, P_REDUCED, MPI_Reduce_scatter_block, MPI_Ireduce_scatter_block,
           REDUCED, COMM(comm))
COLLECTIVE(reduce_scatter, P_REDUCE_SCATTER, MPI_Reduce_scatter, MPI_Ireduce_scatter,
           address(sendbuf), address(recvbuf), counts, TYPE(type), OP(op), COMM(comm))
COLLECTIVE(scan, P_REDUCED, MPI_Scan, MPI_Iscan, REDUCED, COMM(comm))
COLLECTIVE(exscan, P_REDUCED, MPI_Exscan, MPI_Iexscan, REDUCED, COMM(comm))
/* clang-format on */

static MPI_Fint from_1(int index)
{
    return index == MPI_UNDEFINED ? index : index + 1;
}

NAMED(waitall, (Integer count, MPI_Fint requests[], MPI_Fint statuses[], MPI_Fint *ierror))
{
    struct several several;
    int rc = MPI_ERR_NO_MEM;
    if (take(&several, *count, requests)) {
        rc = MPI_Waitall(*count, several.requests, several.statuses);
        give_back(&several, *count, requests, *count, statuses);
    }
    if (ierror)
        *ierror = rc;
}

NAMED(testall,
      (Integer count, MPI_Fint requests[], MPI_Fint *flag, MPI_Fint statuses[], MPI_Fint *ierror))
{
    struct several several;
    int rc = MPI_ERR_NO_MEM, done = 0;
    if (take(&several, *count, requests)) {
        rc = MPI_Testall(*count, several.requests, &done, several.statuses);
        give_back(&several, *count, requests, done ? *count : 0, statuses);
    }
    *flag = done;
    if (ierror)
        *ierror = rc;
}

NAMED(waitany,
      (Integer count, MPI_Fint requests[], MPI_Fint *index, MPI_Fint *status, MPI_Fint *ierror))
{
    struct several several;
    int rc = MPI_ERR_NO_MEM, at = MPI_UNDEFINED;
    MPI_Status own;
    if (take(&several, *count, requests)) {
        rc = hand_back(MPI_Waitany(*count, several.requests, &at, &own), &own, status);
        give_back(&several, *count, requests, 0, NULL);
    }
    *index = from_1(at);
    if (ierror)
        *ierror = rc;
}

NAMED(testany, (Integer count, MPI_Fint requests[], MPI_Fint *index, MPI_Fint *flag,
                MPI_Fint *status, MPI_Fint *ierror))
{
    struct several several;
    int rc = MPI_ERR_NO_MEM, at = MPI_UNDEFINED, done = 0;
    MPI_Status own;
    if (take(&several, *count, requests)) {
        rc = MPI_Testany(*count, several.requests, &at, &done, &own);
        if (done)
            hand_back(rc, &own, status);
        give_back(&several, *count, requests, 0, NULL);
    }
    *index = from_1(at);
    *flag = done;
    if (ierror)
        *ierror = rc;
}

static int some(int (*of)(int, MPI_Request[], int *, int[], MPI_Status[]), int count,
                MPI_Fint requests[], MPI_Fint *done, MPI_Fint indices[], MPI_Fint statuses[])
{
    struct several several;
    if (!take(&several, count, requests))
        return MPI_ERR_NO_MEM;
    const int rc = of(count, several.requests, done, indices, several.statuses);
    const int known = *done == MPI_UNDEFINED ? 0 : *done;
    for (int i = 0; i < known; i++)
        indices[i] = from_1(indices[i]);
    give_back(&several, count, requests, known, statuses);
    return rc;
}

NAMED(waitsome, (Integer count, MPI_Fint requests[], MPI_Fint *done, MPI_Fint indices[],
                 MPI_Fint statuses[], MPI_Fint *ierror))
{
    const int rc = some(MPI_Waitsome, *count, requests, done, indices, statuses);
    if (ierror)
        *ierror = rc;
}

NAMED(testsome, (Integer count, MPI_Fint requests[], MPI_Fint *done, MPI_Fint indices[],
                 MPI_Fint statuses[], MPI_Fint *ierror))
{
    const int rc = some(MPI_Testsome, *count, requests, done, indices, statuses);
    if (ierror)
        *ierror = rc;
}

NAMED(startall, (Integer count, MPI_Fint requests[], MPI_Fint *ierror))
{
    struct several several;
    int rc = MPI_ERR_NO_MEM;
    if (take(&several, *count, requests)) {
        rc = MPI_Startall(*count, several.requests);
        give_back(&several, *count, requests, 0, NULL);
    }
    if (ierror)
        *ierror = rc;
}

NAMED(mprobe, (Integer source, Integer tag, Integer comm, MPI_Fint *message, MPI_Fint *status,
               MPI_Fint *ierror))
{
    MPI_Message made;
    MPI_Status own;
    const int rc = hand_back(MPI_Mprobe(*source, *tag, COMM(comm), &made, &own), &own, status);
    if (rc == MPI_SUCCESS)
        *message = PMPI_Message_c2f(made);
    if (ierror)
        *ierror = rc;
}

NAMED(improbe, (Integer source, Integer tag, Integer comm, MPI_Fint *flag, MPI_Fint *message,
                MPI_Fint *status, MPI_Fint *ierror))
{
    MPI_Message made;
    MPI_Status own;
    int done = 0;
    const int rc = MPI_Improbe(*source, *tag, COMM(comm), &done, &made, &own);
    if (rc == MPI_SUCCESS && done) {
        *message = PMPI_Message_c2f(made);
        hand_back(rc, &own, status);
    }
    *flag = done;
    if (ierror)
        *ierror = rc;
}

NAMED(mrecv, (void *buf, Integer count, Integer type, MPI_Fint *message, MPI_Fint *status,
              MPI_Fint *ierror))
{
    MPI_Message made = PMPI_Message_f2c(*message);
    MPI_Status own;
    const int rc =
        hand_back(MPI_Mrecv(address(buf), *count, TYPE(type), &made, &own), &own, status);
    *message = PMPI_Message_c2f(made);
    if (ierror)
        *ierror = rc;
}

NAMED(imrecv, (void *buf, Integer count, Integer type, MPI_Fint *message, MPI_Fint *request,
               MPI_Fint *ierror))
{
    MPI_Message made = PMPI_Message_f2c(*message);
    MPI_Request begun = MPI_REQUEST_NULL;
    const int rc = MPI_Imrecv(address(buf), *count, TYPE(type), &made, &begun);
    *message = PMPI_Message_c2f(made);
    *request = PMPI_Request_c2f(begun);
    if (ierror)
        *ierror = rc;
}
#endif
