/* Functions that receive. Statuses are never ignored: they say who has sent what. */
#include "recorder.h"

#define WHAT(name, more)                                                                           \
    {                                                                                              \
        .kind = PL_RECEIVE, .flags = more, .function = PL_BEGINS_##name, .peer = source,           \
        .tag = tag, .comm = comm, .site = PL_SITE                                                  \
    }

#define BLOCKING(suffix, Count)                                                                    \
    EXPORT int MPI_Recv##suffix(void *buf, Count count, MPI_Datatype datatype, int source,         \
                                int tag, MPI_Comm comm, MPI_Status *status)                        \
    {                                                                                              \
        if (!pl_recording())                                                                       \
            return PMPI_Recv##suffix(buf, count, datatype, source, tag, comm, status);             \
        MPI_Status own = {0};                                                                      \
        const struct pl_data data = {.buffer = buf, .count = count, .type = datatype};             \
        const struct pl_what what = WHAT(Recv, 0);                                                 \
        struct pl_slot *slot = pl_receive(&what, &data);                                           \
        status = status == MPI_STATUS_IGNORE ? &own : status;                                      \
        const int rc = PMPI_Recv##suffix(buf, count, datatype, source, tag, comm, status);         \
        pl_end(slot, 0, pl_now(), rc);                                                             \
        pl_received(slot, &data, status);                                                          \
        return rc;                                                                                 \
    }

#define NONBLOCKING(suffix, Count)                                                                 \
    EXPORT int MPI_Irecv##suffix(void *buf, Count count, MPI_Datatype datatype, int source,        \
                                 int tag, MPI_Comm comm, MPI_Request *request)                     \
    {                                                                                              \
        struct pl_pending pending = {.receives = true};                                            \
        if (pl_recording()) {                                                                      \
            const struct pl_data data = {.buffer = buf, .count = count, .type = datatype};         \
            const struct pl_what what = WHAT(Irecv, PL_NONBLOCKING);                               \
            pending.data = data;                                                                   \
            pending.slot = pl_receive(&what, &data);                                               \
        }                                                                                          \
        const int rc = PMPI_Irecv##suffix(buf, count, datatype, source, tag, comm, request);       \
        if (rc == MPI_SUCCESS)                                                                     \
            pl_remember(*request, &pending);                                                       \
        else                                                                                       \
            pl_end(pending.slot, 0, pl_now(), rc);                                                 \
        return rc;                                                                                 \
    }

#define PERSISTENT(suffix, Count)                                                                  \
    EXPORT int MPI_Recv_init##suffix(void *buf, Count count, MPI_Datatype datatype, int source,    \
                                     int tag, MPI_Comm comm, MPI_Request *request)                 \
    {                                                                                              \
        const int rc = PMPI_Recv_init##suffix(buf, count, datatype, source, tag, comm, request);   \
        if (rc == MPI_SUCCESS && pl_recording()) {                                                 \
            const struct pl_pending pending = {                                                    \
                .what = WHAT(Recv_init, PL_NONBLOCKING | PL_PERSISTENT),                           \
                .data = {.buffer = buf, .count = count, .type = datatype},                         \
                .persistent = true,                                                                \
                .receives = true};                                                                 \
            pl_remember(*request, &pending);                                                       \
        }                                                                                          \
        return rc;                                                                                 \
    }

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

/* Of a receive behind MPI_Mprobe: which wildcards that had. */
static void keep_wildcards(struct pl_slot *slot, uint32_t flags)
{
    const uint32_t both = PL_ANY_SOURCE | PL_ANY_TAG;
    if (slot)
        slot->flags = (slot->flags & ~both) | (flags & both);
}

#define MATCHED(suffix, Count)                                                                     \
    EXPORT int MPI_Mrecv##suffix(void *buf, Count count, MPI_Datatype datatype,                    \
                                 MPI_Message *message, MPI_Status *status)                         \
    {                                                                                              \
        if (!pl_recording())                                                                       \
            return PMPI_Mrecv##suffix(buf, count, datatype, message, status);                      \
        MPI_Status own = {0};                                                                      \
        const struct pl_data data = {.buffer = buf, .count = count, .type = datatype};             \
        const struct pl_what what = matched(*message, PL_BEGINS_Mrecv, 0, PL_SITE);                \
        struct pl_slot *slot = pl_receive(&what, &data);                                           \
        keep_wildcards(slot, what.flags);                                                          \
        status = status == MPI_STATUS_IGNORE ? &own : status;                                      \
        const int rc = PMPI_Mrecv##suffix(buf, count, datatype, message, status);                  \
        pl_end(slot, 0, pl_now(), rc);                                                             \
        pl_received(slot, &data, status);                                                          \
        return rc;                                                                                 \
    }                                                                                              \
    EXPORT int MPI_Imrecv##suffix(void *buf, Count count, MPI_Datatype datatype,                   \
                                  MPI_Message *message, MPI_Request *request)                      \
    {                                                                                              \
        struct pl_pending pending = {.receives = true};                                            \
        if (pl_recording()) {                                                                      \
            const struct pl_data data = {.buffer = buf, .count = count, .type = datatype};         \
            const struct pl_what what =                                                            \
                matched(*message, PL_BEGINS_Imrecv, PL_NONBLOCKING, PL_SITE);                      \
            pending.data = data;                                                                   \
            pending.slot = pl_receive(&what, &data);                                               \
            keep_wildcards(pending.slot, what.flags);                                              \
        }                                                                                          \
        const int rc = PMPI_Imrecv##suffix(buf, count, datatype, message, request);                \
        if (rc == MPI_SUCCESS)                                                                     \
            pl_remember(*request, &pending);                                                       \
        else                                                                                       \
            pl_end(pending.slot, 0, pl_now(), rc);                                                 \
        return rc;                                                                                 \
    }

#define ALL(suffix, Count)                                                                         \
    BLOCKING(suffix, Count)                                                                        \
    NONBLOCKING(suffix, Count)                                                                     \
    PERSISTENT(suffix, Count)                                                                      \
    MATCHED(suffix, Count)

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
            .what = WHAT(Precv_init, PL_NONBLOCKING | PL_PERSISTENT | PL_PARTITIONED),
            .data = {.buffer = buf, .count = count * partitions, .type = datatype},
            .persistent = true,
            .whole = true};
        pl_remember(*request, &pending);
    }
    return rc;
}
#endif
