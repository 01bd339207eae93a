/* Functions that send and receive at once: two events. */
#include "recorder.h"

static struct pl_slot *half(enum pl_kind kind, enum pl_begins function, uint32_t flags,
                            const struct pl_data *data, int peer, int tag, MPI_Comm comm,
                            int32_t site)
{
    const struct pl_what what = {.kind = kind,
                                 .flags = PL_EXCHANGE | flags,
                                 .function = function,
                                 .peer = peer,
                                 .tag = tag,
                                 .comm = comm,
                                 .site = site};
    return kind == PL_SEND ? pl_send(&what, data) : pl_receive(&what, data);
}

#define TWO_BUFFERS(Count)                                                                         \
    const void *sendbuf, Count sendcount, MPI_Datatype sendtype, int dest, int sendtag,            \
        void *recvbuf, Count recvcount, MPI_Datatype recvtype, int source, int recvtag,            \
        MPI_Comm comm
#define TWO_GIVEN                                                                                  \
    sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype, source, recvtag, comm
#define TWO_DATA                                                                                   \
    out = {.buffer = sendbuf, .count = sendcount, .type = sendtype},                               \
    in = {.buffer = recvbuf, .count = recvcount, .type = recvtype}
#define ONE_BUFFERS(Count)                                                                         \
    void *buf, Count count, MPI_Datatype datatype, int dest, int sendtag, int source, int recvtag, \
        MPI_Comm comm
#define ONE_GIVEN buf, count, datatype, dest, sendtag, source, recvtag, comm
#define ONE_DATA in = {.buffer = buf, .count = count, .type = datatype}, out = in

/* `last`: a status, or a request. */
#define EXCHANGE(name, suffix, BUFFERS, Count, type, last, FLAGS)                                  \
    EXPORT int MPI_##name##suffix(BUFFERS##_BUFFERS(Count), type *last)                            \
    {                                                                                              \
        if (!pl_recording())                                                                       \
            return PMPI_##name##suffix(BUFFERS##_GIVEN, last);                                     \
        const int32_t site = PL_SITE;                                                              \
        const struct pl_data BUFFERS##_DATA;                                                       \
        struct pl_slot *sent =                                                                     \
            half(PL_SEND, PL_BEGINS_##name, FLAGS, &out, dest, sendtag, comm, site);               \
        struct pl_slot *received =                                                                 \
            half(PL_RECEIVE, PL_BEGINS_##name, FLAGS, &in, source, recvtag, comm, site);           \
        FINISH_##last(PMPI_##name##suffix(BUFFERS##_GIVEN, last))                                  \
    }

/* Behind the slots of a blocking one: the call, and what came. */
#define FINISH_status(call)                                                                        \
    MPI_Status own = {0};                                                                          \
    status = status == MPI_STATUS_IGNORE ? &own : status;                                          \
    const int rc = call;                                                                           \
    const int64_t end = pl_now();                                                                  \
    pl_end(sent, 0, end, rc);                                                                      \
    pl_end(received, 0, end, rc);                                                                  \
    pl_received(received, &in, status);                                                            \
    return rc;
/* A send alone ends when its request does; PROC_NULL on one side leaves the other. */
#define FINISH_request(call)                                                                       \
    const int rc = call;                                                                           \
    if (rc == MPI_SUCCESS) {                                                                       \
        struct pl_pending pending = {                                                              \
            .slot = received ? received : sent, .receives = received != NULL, .data = in};         \
        pending.other = received ? sent : NULL;                                                    \
        pl_remember(*request, &pending);                                                           \
    }                                                                                              \
    return rc;

#define BLOCKING(suffix, Count)                                                                    \
    EXCHANGE(Sendrecv, suffix, TWO, Count, MPI_Status, status, 0)                                  \
    EXCHANGE(Sendrecv_replace, suffix, ONE, Count, MPI_Status, status, 0)
#define NONBLOCKING(suffix, Count)                                                                 \
    EXCHANGE(Isendrecv, suffix, TWO, Count, MPI_Request, request, PL_NONBLOCKING)                  \
    EXCHANGE(Isendrecv_replace, suffix, ONE, Count, MPI_Request, request, PL_NONBLOCKING)

BLOCKING(, int)
#ifdef PL_LARGE_COUNTS
BLOCKING(_c, MPI_Count)
#endif
#ifdef PL_PARTITIONS
NONBLOCKING(, int)
#ifdef PL_LARGE_COUNTS
NONBLOCKING(_c, MPI_Count)
#endif
#endif
