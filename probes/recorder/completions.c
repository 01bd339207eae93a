/* Functions that start and complete requests. Handles are kept before the call, which takes them
 * away, and statuses are never ignored. */
#include "recorder.h"

#include <stdlib.h>
#include <string.h>

enum { AT_ONCE = 64 };

/* Copies of requests, and statuses of our own where the application wants none. */
struct kept {
    MPI_Request few[AT_ONCE], *requests;
    MPI_Status some[AT_ONCE], *statuses;
    int64_t start;
    bool whole;
};

static void keep(struct kept *kept, int count, const MPI_Request requests[], MPI_Status *statuses)
{
    const size_t room = (size_t)(count > 0 ? count : 0);
    kept->requests = room > AT_ONCE ? malloc(room * sizeof *kept->requests) : kept->few;
    kept->statuses = statuses != MPI_STATUSES_IGNORE ? statuses
                     : room > AT_ONCE                ? malloc(room * sizeof *kept->statuses)
                                                     : kept->some;
    kept->whole = kept->requests && kept->statuses;
    if (kept->whole && room > 0)
        memcpy(kept->requests, requests, room * sizeof *kept->requests);
    kept->start = pl_now();
}

static void let_go(struct kept *kept, const MPI_Status *statuses)
{
    if (kept->requests != kept->few)
        free(kept->requests);
    if (kept->statuses != statuses && kept->statuses != kept->some)
        free(kept->statuses);
}

/* Of a call on several: what one of them has come to. */
static int outcome(int rc, const MPI_Status *status)
{
    return rc == MPI_ERR_IN_STATUS ? status->MPI_ERROR : rc;
}

static void complete(const struct kept *kept, int index, const MPI_Status *status, int64_t end,
                     int rc)
{
    const int own = outcome(rc, status);
    if (own != MPI_ERR_PENDING && kept->requests[index] != MPI_REQUEST_NULL)
        pl_completed(kept->requests[index], status, kept->start, end, own);
}

/* The four functions of a kind; `done`: the call has completed what it was asked for. */
#define COMPLETE(Wait, FLAG, GIVEN, done)                                                          \
    EXPORT int MPI_##Wait(MPI_Request *request, FLAG MPI_Status *status)                           \
    {                                                                                              \
        MPI_Status own = {0};                                                                      \
        if (!pl_recording())                                                                       \
            return PMPI_##Wait(request, GIVEN status);                                             \
        const MPI_Request was = *request;                                                          \
        const int64_t start = pl_now();                                                            \
        status = status == MPI_STATUS_IGNORE ? &own : status;                                      \
        const int rc = PMPI_##Wait(request, GIVEN status);                                         \
        if (was != MPI_REQUEST_NULL && (done))                                                     \
            pl_completed(was, status, start, pl_now(), rc);                                        \
        return rc;                                                                                 \
    }                                                                                              \
    EXPORT int MPI_##Wait##all(int count, MPI_Request requests[], FLAG MPI_Status statuses[])      \
    {                                                                                              \
        struct kept kept = {0};                                                                    \
        if (!pl_recording())                                                                       \
            return PMPI_##Wait##all(count, requests, GIVEN statuses);                              \
        keep(&kept, count, requests, statuses);                                                    \
        const int rc =                                                                             \
            PMPI_##Wait##all(count, requests, GIVEN kept.whole ? kept.statuses : statuses);        \
        const int64_t end = pl_now();                                                              \
        for (int i = 0; kept.whole && (done) && i < count; i++)                                    \
            complete(&kept, i, &kept.statuses[i], end, rc);                                        \
        let_go(&kept, statuses);                                                                   \
        return rc;                                                                                 \
    }                                                                                              \
    EXPORT int MPI_##Wait##any(int count, MPI_Request requests[], int *index,                      \
                               FLAG MPI_Status *status)                                            \
    {                                                                                              \
        struct kept kept = {0};                                                                    \
        MPI_Status own = {0};                                                                      \
        if (!pl_recording())                                                                       \
            return PMPI_##Wait##any(count, requests, index, GIVEN status);                         \
        keep(&kept, count, requests, MPI_STATUSES_IGNORE);                                         \
        status = status == MPI_STATUS_IGNORE ? &own : status;                                      \
        const int rc = PMPI_##Wait##any(count, requests, index, GIVEN status);                     \
        if (kept.whole && (done) && *index != MPI_UNDEFINED)                                       \
            complete(&kept, *index, status, pl_now(), rc);                                         \
        let_go(&kept, MPI_STATUSES_IGNORE);                                                        \
        return rc;                                                                                 \
    }                                                                                              \
    EXPORT int MPI_##Wait##some(int count, MPI_Request requests[], int *some, int indices[],       \
                                MPI_Status statuses[])                                             \
    {                                                                                              \
        struct kept kept = {0};                                                                    \
        if (!pl_recording())                                                                       \
            return PMPI_##Wait##some(count, requests, some, indices, statuses);                    \
        keep(&kept, count, requests, statuses);                                                    \
        const int rc = PMPI_##Wait##some(count, requests, some, indices,                           \
                                         kept.whole ? kept.statuses : statuses);                   \
        const int64_t end = pl_now();                                                              \
        for (int i = 0; kept.whole && *some != MPI_UNDEFINED && i < *some; i++)                    \
            complete(&kept, indices[i], &kept.statuses[i], end, rc);                               \
        let_go(&kept, statuses);                                                                   \
        return rc;                                                                                 \
    }

#define FLAG int *flag,
#define FLAG_GIVEN flag,
COMPLETE(Wait, , , true)
COMPLETE(Test, FLAG, FLAG_GIVEN, rc != MPI_SUCCESS || *flag)

EXPORT int MPI_Start(MPI_Request *request)
{
    if (pl_recording())
        pl_started(*request, PL_SITE);
    return PMPI_Start(request);
}

EXPORT int MPI_Startall(int count, MPI_Request requests[])
{
    for (int i = 0; pl_recording() && i < count; i++)
        pl_started(requests[i], PL_SITE);
    return PMPI_Startall(count, requests);
}

EXPORT int MPI_Cancel(MPI_Request *request)
{
    struct pl_pending *pending = pl_recording() ? pl_remembered(*request) : NULL;
    if (pending)
        pending->cancels = true;
    return PMPI_Cancel(request);
}

EXPORT int MPI_Request_free(MPI_Request *request)
{
    const MPI_Request was = *request;
    const int rc = PMPI_Request_free(request);
    if (rc == MPI_SUCCESS && pl_recording())
        pl_freed(was);
    return rc;
}
