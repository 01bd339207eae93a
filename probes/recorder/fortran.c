/* The functions that a Fortran application calls: see fortran.h. Statuses are integers here, of the
 * size of a structure there: both hold what MPI_Status does. */
#include "recorder.h"

#ifdef OPEN_MPI
#include "fortran.h"

#include <stdlib.h>

static bool is(const void *const constant[], const void *status)
{
    for (int i = 0; i < SPELLINGS; i++)
        if (status == constant[i])
            return true;
    return false;
}

/* A status of an application that may want none. */
static int hand_back(int rc, const MPI_Status *own, MPI_Fint *status)
{
    if (status && !is(known_constants()->ignored, status))
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
    for (int i = 0; statuses && !is(known_constants()->all_ignored, statuses) && i < done; i++)
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

#define INFO(handle) PMPI_Info_f2c(*(handle))
#define GROUP(handle) PMPI_Group_f2c(*(handle))

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
    NAMED(name, parameters, MPI_Status own; rc = hand_back(call, &own, status);)

/* clang-format off */
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

/* A collective, its form with a request, and the persistent one. */
#define PL_COLLECTIVE(name, Name, SHAPE)                                                           \
    SUBROUTINE(name, P_##SHAPE(IERROR), MPI_##Name(G_##SHAPE))                                     \
    MAKER(i##name, P_##SHAPE(REQUEST), Request, request, MPI_I##name(G_##SHAPE, &made))            \
    PERSISTENT(name, P_##SHAPE, MPI_##Name##_init, G_##SHAPE)
#ifdef PL_PARTITIONS
#define PERSISTENT(name, PARAMETERS, function, ...)                                                \
    MAKER(name##_init, PARAMETERS(Integer info, REQUEST), Request, request,                        \
          function(__VA_ARGS__, INFO(info), &made))
#else
#define PERSISTENT(name, PARAMETERS, function, ...)
#endif
#define PL_COLLECTIVE_UNMEASURED(...)
#include "collectives.def"
/* clang-format on */

static MPI_Fint from_1(int index)
{
    return index == MPI_UNDEFINED ? index : index + 1;
}

/* `flag`: NULL to wait. */
static int all(int count, MPI_Fint requests[], MPI_Fint *flag, MPI_Fint statuses[])
{
    struct several several;
    int rc = MPI_ERR_NO_MEM, done = 0;
    if (take(&several, count, requests)) {
        rc = flag ? MPI_Testall(count, several.requests, &done, several.statuses)
                  : MPI_Waitall(count, several.requests, several.statuses);
        give_back(&several, count, requests, done || !flag ? count : 0, statuses);
    }
    if (flag)
        *flag = done;
    return rc;
}

static int any(int count, MPI_Fint requests[], MPI_Fint *index, MPI_Fint *flag, MPI_Fint *status)
{
    struct several several;
    int rc = MPI_ERR_NO_MEM, at = MPI_UNDEFINED, done = 0;
    MPI_Status own;
    if (take(&several, count, requests)) {
        rc = flag ? MPI_Testany(count, several.requests, &at, &done, &own)
                  : MPI_Waitany(count, several.requests, &at, &own);
        if (done || !flag)
            hand_back(rc, &own, status);
        give_back(&several, count, requests, 0, NULL);
    }
    *index = from_1(at);
    if (flag)
        *flag = done;
    return rc;
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

static int start_all(int count, MPI_Fint requests[])
{
    struct several several;
    if (!take(&several, count, requests))
        return MPI_ERR_NO_MEM;
    const int rc = MPI_Startall(count, several.requests);
    give_back(&several, count, requests, 0, NULL);
    return rc;
}

/* clang-format off */
#define REQUESTS Integer count, MPI_Fint requests[]
SUBROUTINE(waitall, (REQUESTS, MPI_Fint statuses[], IERROR), all(*count, requests, NULL, statuses))
SUBROUTINE(testall, (REQUESTS, MPI_Fint *flag, MPI_Fint statuses[], IERROR),
           all(*count, requests, flag, statuses))
SUBROUTINE(waitany, (REQUESTS, MPI_Fint *index, STATUS), any(*count, requests, index, NULL, status))
SUBROUTINE(testany, (REQUESTS, MPI_Fint *index, MPI_Fint *flag, STATUS),
           any(*count, requests, index, flag, status))
SUBROUTINE(waitsome, (REQUESTS, MPI_Fint *done, MPI_Fint indices[], MPI_Fint statuses[], IERROR),
           some(MPI_Waitsome, *count, requests, done, indices, statuses))
SUBROUTINE(testsome, (REQUESTS, MPI_Fint *done, MPI_Fint indices[], MPI_Fint statuses[], IERROR),
           some(MPI_Testsome, *count, requests, done, indices, statuses))
SUBROUTINE(startall, (REQUESTS, IERROR), start_all(*count, requests))

#define PROBED Integer source, Integer tag, Integer comm
NAMED(mprobe, (PROBED, MPI_Fint *message, STATUS),
      MPI_Message made;
      MPI_Status own;
      rc = hand_back(MPI_Mprobe(*source, *tag, COMM(comm), &made, &own), &own, status);
      if (rc == MPI_SUCCESS)
          *message = PMPI_Message_c2f(made);)
NAMED(improbe, (PROBED, MPI_Fint *flag, MPI_Fint *message, STATUS),
      MPI_Message made;
      MPI_Status own;
      int done = 0;
      rc = MPI_Improbe(*source, *tag, COMM(comm), &done, &made, &own);
      if (rc == MPI_SUCCESS && done) {
          *message = PMPI_Message_c2f(made);
          hand_back(rc, &own, status);
      }
      *flag = done;)
NAMED(mrecv, (void *buf, Integer count, Integer type, MPI_Fint *message, STATUS),
      MPI_Message made = PMPI_Message_f2c(*message);
      MPI_Status own;
      rc = hand_back(MPI_Mrecv(address(buf), *count, TYPE(type), &made, &own), &own, status);
      *message = PMPI_Message_c2f(made);)
NAMED(imrecv, (void *buf, Integer count, Integer type, MPI_Fint *message, REQUEST),
      MPI_Message made = PMPI_Message_f2c(*message);
      MPI_Request begun = MPI_REQUEST_NULL;
      rc = MPI_Imrecv(address(buf), *count, TYPE(type), &made, &begun);
      *message = PMPI_Message_c2f(made);
      *request = PMPI_Request_c2f(begun);)
/* clang-format on */
#endif
