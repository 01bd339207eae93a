/* Functions that send and receive at once: two events. */
#include "recorder.h"

static struct pl_slot *send_half(enum pl_begins function, uint32_t flags,
                                 const struct pl_data *data, int dest, int tag, MPI_Comm comm,
                                 int32_t site)
{
    const struct pl_what what = {.kind = PL_SEND,
                                 .flags = PL_EXCHANGE | flags,
                                 .function = function,
                                 .peer = dest,
                                 .tag = tag,
                                 .comm = comm,
                                 .site = site};
    return pl_send(&what, data);
}

static struct pl_slot *receive_half(enum pl_begins function, uint32_t flags,
                                    const struct pl_data *data, int source, int tag, MPI_Comm comm,
                                    int32_t site)
{
    const struct pl_what what = {.kind = PL_RECEIVE,
                                 .flags = PL_EXCHANGE | flags,
                                 .function = function,
                                 .peer = source,
                                 .tag = tag,
                                 .comm = comm,
                                 .site = site};
    return pl_receive(&what, data);
}

#define TWO_BUFFERS(Count)                                                                         \
    const void *sendbuf, Count sendcount, MPI_Datatype sendtype, int dest, int sendtag,            \
        void *recvbuf, Count recvcount, MPI_Datatype recvtype, int source, int recvtag,            \
        MPI_Comm comm
#define TWO_GIVEN                                                                                  \
    sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype, source, recvtag, comm
#define ONE_BUFFER(Count)                                                                          \
    void *buf, Count count, MPI_Datatype datatype, int dest, int sendtag, int source, int recvtag, \
        MPI_Comm comm
#define ONE_GIVEN buf, count, datatype, dest, sendtag, source, recvtag, comm

/* Behind the slots of a blocking one: the call, and what came. */
#define FINISH(call)                                                                               \
    MPI_Status own = {0};                                                                          \
    status = status == MPI_STATUS_IGNORE ? &own : status;                                          \
    const int rc = call;                                                                           \
    const int64_t end = pl_now();                                                                  \
    pl_end(sent, 0, end, rc);                                                                      \
    pl_end(received, 0, end, rc);                                                                  \
    pl_received(received, &in, status);                                                            \
    return rc;

#define BLOCKING(suffix, Count)                                                                    \
    EXPORT int MPI_Sendrecv##suffix(TWO_BUFFERS(Count), MPI_Status *status)                        \
    {                                                                                              \
        if (!pl_recording())                                                                       \
            return PMPI_Sendrecv##suffix(TWO_GIVEN, status);                                       \
        const int32_t site = PL_SITE;                                                              \
        const struct pl_data out = {.buffer = sendbuf, .count = sendcount, .type = sendtype};      \
        const struct pl_data in = {.buffer = recvbuf, .count = recvcount, .type = recvtype};       \
        struct pl_slot *sent = send_half(PL_BEGINS_Sendrecv, 0, &out, dest, sendtag, comm, site);  \
        struct pl_slot *received =                                                                 \
            receive_half(PL_BEGINS_Sendrecv, 0, &in, source, recvtag, comm, site);                 \
        FINISH(PMPI_Sendrecv##suffix(TWO_GIVEN, status))                                           \
    }                                                                                              \
    EXPORT int MPI_Sendrecv_replace##suffix(ONE_BUFFER(Count), MPI_Status *status)                 \
    {                                                                                              \
        if (!pl_recording())                                                                       \
            return PMPI_Sendrecv_replace##suffix(ONE_GIVEN, status);                               \
        const int32_t site = PL_SITE;                                                              \
        const struct pl_data in = {.buffer = buf, .count = count, .type = datatype};               \
        struct pl_slot *sent =                                                                     \
            send_half(PL_BEGINS_Sendrecv_replace, 0, &in, dest, sendtag, comm, site);              \
        struct pl_slot *received =                                                                 \
            receive_half(PL_BEGINS_Sendrecv_replace, 0, &in, source, recvtag, comm, site);         \
        FINISH(PMPI_Sendrecv_replace##suffix(ONE_GIVEN, status))                                   \
    }

BLOCKING(, int)
#ifdef PL_LARGE_COUNTS
BLOCKING(_c, MPI_Count)
#endif

#ifdef PL_PARTITIONS
/* A send alone ends when its request does; PROC_NULL on one side leaves the other. */
#define BEGUN(call)                                                                                \
    const int rc = call;                                                                           \
    if (rc == MPI_SUCCESS) {                                                                       \
        struct pl_pending pending = {                                                              \
            .slot = received ? received : sent, .receives = received != NULL, .data = in};         \
        pending.other = received ? sent : NULL;                                                    \
        pl_remember(*request, &pending);                                                           \
    }                                                                                              \
    return rc;

#define NONBLOCKING(suffix, Count)                                                                 \
    EXPORT int MPI_Isendrecv##suffix(TWO_BUFFERS(Count), MPI_Request *request)                     \
    {                                                                                              \
        if (!pl_recording())                                                                       \
            return PMPI_Isendrecv##suffix(TWO_GIVEN, request);                                     \
        const int32_t site = PL_SITE;                                                              \
        const struct pl_data out = {.buffer = sendbuf, .count = sendcount, .type = sendtype};      \
        const struct pl_data in = {.buffer = recvbuf, .count = recvcount, .type = recvtype};       \
        struct pl_slot *sent =                                                                     \
            send_half(PL_BEGINS_Isendrecv, PL_NONBLOCKING, &out, dest, sendtag, comm, site);       \
        struct pl_slot *received =                                                                 \
            receive_half(PL_BEGINS_Isendrecv, PL_NONBLOCKING, &in, source, recvtag, comm, site);   \
        BEGUN(PMPI_Isendrecv##suffix(TWO_GIVEN, request))                                          \
    }                                                                                              \
    EXPORT int MPI_Isendrecv_replace##suffix(ONE_BUFFER(Count), MPI_Request *request)              \
    {                                                                                              \
        if (!pl_recording())                                                                       \
            return PMPI_Isendrecv_replace##suffix(ONE_GIVEN, request);                             \
        const int32_t site = PL_SITE;                                                              \
        const struct pl_data in = {.buffer = buf, .count = count, .type = datatype};               \
        struct pl_slot *sent = send_half(PL_BEGINS_Isendrecv_replace, PL_NONBLOCKING, &in, dest,   \
                                         sendtag, comm, site);                                     \
        struct pl_slot *received = receive_half(PL_BEGINS_Isendrecv_replace, PL_NONBLOCKING, &in,  \
                                                source, recvtag, comm, site);                      \
        BEGUN(PMPI_Isendrecv_replace##suffix(ONE_GIVEN, request))                                  \
    }

NONBLOCKING(, int)
#ifdef PL_LARGE_COUNTS
NONBLOCKING(_c, MPI_Count)
#endif
#endif
