/* Functions that send. */
#include "recorder.h"

#define WHAT(name, how, more)                                                                      \
    {                                                                                              \
        .kind = PL_SEND, .mode = how, .flags = more, .function = PL_BEGINS_##name, .peer = dest,   \
        .tag = tag, .comm = comm, .site = PL_SITE                                                  \
    }
#define ARGUMENTS(Count)                                                                           \
    const void *buf, Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm

#define BLOCKING(name, suffix, Count, mode)                                                        \
    EXPORT int MPI_##name##suffix(ARGUMENTS(Count))                                                \
    {                                                                                              \
        struct pl_slot *slot = NULL;                                                               \
        if (pl_recording()) {                                                                      \
            const struct pl_data data = {.buffer = buf, .count = count, .type = datatype};         \
            const struct pl_what what = WHAT(name, mode, 0);                                       \
            slot = pl_send(&what, &data);                                                          \
        }                                                                                          \
        const int rc = PMPI_##name##suffix(buf, count, datatype, dest, tag, comm);                 \
        pl_end(slot, 0, pl_now(), rc);                                                             \
        return rc;                                                                                 \
    }

#define NONBLOCKING(name, suffix, Count, mode)                                                     \
    EXPORT int MPI_##name##suffix(ARGUMENTS(Count), MPI_Request *request)                          \
    {                                                                                              \
        struct pl_pending pending = {0};                                                           \
        if (pl_recording()) {                                                                      \
            const struct pl_data data = {.buffer = buf, .count = count, .type = datatype};         \
            const struct pl_what what = WHAT(name, mode, PL_NONBLOCKING);                          \
            pending.data = data;                                                                   \
            pending.slot = pl_send(&what, &data);                                                  \
        }                                                                                          \
        const int rc = PMPI_##name##suffix(buf, count, datatype, dest, tag, comm, request);        \
        if (rc == MPI_SUCCESS)                                                                     \
            pl_remember(*request, &pending);                                                       \
        else                                                                                       \
            pl_end(pending.slot, 0, pl_now(), rc);                                                 \
        return rc;                                                                                 \
    }

#define PERSISTENT(name, suffix, Count, mode)                                                      \
    EXPORT int MPI_##name##suffix(ARGUMENTS(Count), MPI_Request *request)                          \
    {                                                                                              \
        const int rc = PMPI_##name##suffix(buf, count, datatype, dest, tag, comm, request);        \
        if (rc == MPI_SUCCESS && pl_recording()) {                                                 \
            const struct pl_pending pending = {                                                    \
                .what = WHAT(name, mode, PL_NONBLOCKING | PL_PERSISTENT),                          \
                .data = {.buffer = buf, .count = count, .type = datatype},                         \
                .persistent = true};                                                               \
            pl_remember(*request, &pending);                                                       \
        }                                                                                          \
        return rc;                                                                                 \
    }

#define ALL(suffix, Count)                                                                         \
    BLOCKING(Send, suffix, Count, PL_STANDARD)                                                     \
    BLOCKING(Bsend, suffix, Count, PL_BUFFERED)                                                    \
    BLOCKING(Ssend, suffix, Count, PL_SYNCHRONOUS)                                                 \
    BLOCKING(Rsend, suffix, Count, PL_READY)                                                       \
    NONBLOCKING(Isend, suffix, Count, PL_STANDARD)                                                 \
    NONBLOCKING(Ibsend, suffix, Count, PL_BUFFERED)                                                \
    NONBLOCKING(Issend, suffix, Count, PL_SYNCHRONOUS)                                             \
    NONBLOCKING(Irsend, suffix, Count, PL_READY)                                                   \
    PERSISTENT(Send_init, suffix, Count, PL_STANDARD)                                              \
    PERSISTENT(Bsend_init, suffix, Count, PL_BUFFERED)                                             \
    PERSISTENT(Ssend_init, suffix, Count, PL_SYNCHRONOUS)                                          \
    PERSISTENT(Rsend_init, suffix, Count, PL_READY)

ALL(, int)
#ifdef PL_LARGE_COUNTS
ALL(_c, MPI_Count)
#endif

#ifdef PL_PARTITIONS
EXPORT int MPI_Psend_init(const void *buf, int partitions, MPI_Count count, MPI_Datatype datatype,
                          int dest, int tag, MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    const int rc =
        PMPI_Psend_init(buf, partitions, count, datatype, dest, tag, comm, info, request);
    if (rc == MPI_SUCCESS && pl_recording()) {
        const struct pl_pending pending = {
            .what = WHAT(Psend_init, PL_STANDARD, PL_NONBLOCKING | PL_PERSISTENT | PL_PARTITIONED),
            .data = {.buffer = buf, .count = count * partitions, .type = datatype},
            .persistent = true,
            .whole = true};
        pl_remember(*request, &pending);
    }
    return rc;
}
#endif
