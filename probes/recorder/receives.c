/* Functions that receive. Statuses are never ignored: they say who has sent what. */
#include "recorder.h"

static struct pl_what matched(MPI_Message message, enum pl_begins function, uint32_t flags,
                              int32_t site)
{
    struct pl_what what = {.kind = PL_RECEIVE,
                           .flags = PL_MATCHED_PROBE,
                           .function = function,
                           .peer = MPI_PROC_NULL,
                           .tag = MPI_ANY_TAG,
                           .comm = MPI_COMM_NULL,
                           .site = site};
    uint32_t wild = 0;
    if (pl_probed_on(message, &what.comm, &wild)) {
        what.peer = wild & PL_ANY_SOURCE ? MPI_ANY_SOURCE : 0;
        what.flags |= flags | wild;
    }
    return what;
}

static struct pl_slot *receive(const struct pl_what *what, const struct pl_data *data)
{
    const uint32_t both = PL_ANY_SOURCE | PL_ANY_TAG;
    struct pl_slot *slot = pl_receive(what, data);
    if (slot && what->flags & PL_MATCHED_PROBE) /* which wildcards the MPI_Mprobe had */
        slot->flags = (slot->flags & ~both) | (what->flags & both);
    return slot;
}

#define PLAIN(Count)                                                                               \
    void *buf, Count count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm
#define PLAIN_GIVEN buf, count, datatype, source, tag, comm
#define PLAIN_WHAT(name, more)                                                                     \
    {                                                                                              \
        .kind = PL_RECEIVE, .flags = more, .function = PL_BEGINS_##name, .peer = source,           \
        .tag = tag, .comm = comm, .site = PL_SITE                                                  \
    }
#define MATCHED(Count) void *buf, Count count, MPI_Datatype datatype, MPI_Message *message
#define MATCHED_GIVEN buf, count, datatype, message
#define MATCHED_WHAT(name, more) matched(*message, PL_BEGINS_##name, more, PL_SITE)

#define BLOCKING(name, suffix, ARGUMENTS, Count)                                                   \
    EXPORT int MPI_##name##suffix(ARGUMENTS(Count), MPI_Status *status)                            \
    {                                                                                              \
        if (!pl_recording())                                                                       \
            return PMPI_##name##suffix(ARGUMENTS##_GIVEN, status);                                 \
        MPI_Status own = {0};                                                                      \
        const struct pl_data data = {.buffer = buf, .count = count, .type = datatype};             \
        const struct pl_what what = ARGUMENTS##_WHAT(name, 0);                                     \
        struct pl_slot *slot = receive(&what, &data);                                              \
        status = status == MPI_STATUS_IGNORE ? &own : status;                                      \
        const int rc = PMPI_##name##suffix(ARGUMENTS##_GIVEN, status);                             \
        pl_end(slot, 0, pl_now(), rc);                                                             \
        pl_received(slot, &data, status);                                                          \
        return rc;                                                                                 \
    }

#define NONBLOCKING(name, suffix, ARGUMENTS, Count)                                                \
    EXPORT int MPI_##name##suffix(ARGUMENTS(Count), MPI_Request *request)                          \
    {                                                                                              \
        struct pl_pending pending = {.receives = true};                                            \
        if (pl_recording()) {                                                                      \
            const struct pl_data data = {.buffer = buf, .count = count, .type = datatype};         \
            const struct pl_what what = ARGUMENTS##_WHAT(name, PL_NONBLOCKING);                    \
            pending.data = data;                                                                   \
            pending.slot = receive(&what, &data);                                                  \
        }                                                                                          \
        const int rc = PMPI_##name##suffix(ARGUMENTS##_GIVEN, request);                            \
        if (rc == MPI_SUCCESS)                                                                     \
            pl_remember(*request, &pending);                                                       \
        else                                                                                       \
            pl_end(pending.slot, 0, pl_now(), rc);                                                 \
        return rc;                                                                                 \
    }

#define PERSISTENT(suffix, Count)                                                                  \
    EXPORT int MPI_Recv_init##suffix(PLAIN(Count), MPI_Request *request)                           \
    {                                                                                              \
        const int rc = PMPI_Recv_init##suffix(PLAIN_GIVEN, request);                               \
        if (rc == MPI_SUCCESS && pl_recording()) {                                                 \
            const struct pl_pending pending = {                                                    \
                .what = PLAIN_WHAT(Recv_init, PL_NONBLOCKING | PL_PERSISTENT),                     \
                .data = {.buffer = buf, .count = count, .type = datatype},                         \
                .persistent = true,                                                                \
                .receives = true};                                                                 \
            pl_remember(*request, &pending);                                                       \
        }                                                                                          \
        return rc;                                                                                 \
    }

#define ALL(suffix, Count)                                                                         \
    BLOCKING(Recv, suffix, PLAIN, Count)                                                           \
    NONBLOCKING(Irecv, suffix, PLAIN, Count)                                                       \
    PERSISTENT(suffix, Count)                                                                      \
    BLOCKING(Mrecv, suffix, MATCHED, Count)                                                        \
    NONBLOCKING(Imrecv, suffix, MATCHED, Count)

ALL(, int)
#ifdef PL_LARGE_COUNTS
ALL(_c, MPI_Count)
#endif

static uint32_t wildcards(int source, int tag)
{
    return (source == MPI_ANY_SOURCE ? PL_ANY_SOURCE : 0) | (tag == MPI_ANY_TAG ? PL_ANY_TAG : 0);
}

EXPORT int MPI_Mprobe(int source, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status)
{
    const int rc = PMPI_Mprobe(source, tag, comm, message, status);
    if (rc == MPI_SUCCESS && pl_recording())
        pl_probed(*message, comm, wildcards(source, tag));
    return rc;
}

EXPORT int MPI_Improbe(int source, int tag, MPI_Comm comm, int *flag, MPI_Message *message,
                       MPI_Status *status)
{
    const int rc = PMPI_Improbe(source, tag, comm, flag, message, status);
    if (rc == MPI_SUCCESS && *flag && pl_recording())
        pl_probed(*message, comm, wildcards(source, tag));
    return rc;
}

#ifdef PL_PARTITIONS
EXPORT int MPI_Precv_init(void *buf, int partitions, MPI_Count count, MPI_Datatype datatype,
                          int source, int tag, MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    const int rc =
        PMPI_Precv_init(buf, partitions, count, datatype, source, tag, comm, info, request);
    if (rc == MPI_SUCCESS && pl_recording()) {
        const struct pl_pending pending = {
            .what = PLAIN_WHAT(Precv_init, PL_NONBLOCKING | PL_PERSISTENT | PL_PARTITIONED),
            .data = {.buffer = buf, .count = count * partitions, .type = datatype},
            .persistent = true,
            .whole = true};
        pl_remember(*request, &pending);
    }
    return rc;
}
#endif
