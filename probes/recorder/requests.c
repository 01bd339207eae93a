/* What is under way, by the handle of its request. A handle may stand for several sends at once:
 * libraries have one for all that were complete when they were begun. They end in the order in
 * which they began. */
#include "halves.h"

#include <stdlib.h>

enum { BUCKETS = 4096 };

/* What a start begins besides the output, whose data are in pl_pending. */
struct pl_persistent {
    struct pl_collective_call call;
    struct pl_data input;
    bool own_type;
};

struct messages {
    MPI_Message message;
    MPI_Comm comm;
    uint32_t flags;
    struct messages *next;
};

static struct {
    struct pl_pending *buckets[BUCKETS]; /* distinct keys by next; of one key by later */
    struct pl_pending *unused;
    struct messages *messages;
    pthread_mutex_t lock;
} table = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void lock(void)
{
    if (pl_book.threads)
        pthread_mutex_lock(&table.lock);
}

static void unlock(void)
{
    if (pl_book.threads)
        pthread_mutex_unlock(&table.lock);
}

static struct pl_pending **place_of(uintptr_t key)
{
    struct pl_pending **at = &table.buckets[pl_mix(key) % BUCKETS];
    while (*at && (*at)->key != key)
        at = &(*at)->next;
    return at;
}

/* Puts a duplicate in its place, as it may be freed while it is needed; false: it need not. */
static bool keep_type(MPI_Datatype *type)
{
    const struct pl_datatype *known = pl_type_of(*type);
    return known && !known->named && PMPI_Type_dup(*type, type) == MPI_SUCCESS;
}

void pl_remember(MPI_Request request, const struct pl_pending *given)
{
    if (request == MPI_REQUEST_NULL || (!given->slot && !given->persistent))
        return;
    lock();
    struct pl_pending *pending = table.unused;
    if (pending)
        table.unused = pending->next;
    else
        pending = malloc(sizeof *pending);
    if (pending) {
        *pending = *given;
        pending->key = PL_KEY(request);
        pending->next = pending->later = NULL;
        pending->last = pending;
        if (pending->persistent && !pending->collective && pending->what.comm != MPI_COMM_NULL)
            pending->what.member = pl_member_of(pending->what.comm);
        pending->own_type =
            (pending->receives || pending->persistent) && keep_type(&pending->data.type);
        struct pl_pending **at = place_of(pending->key);
        if (*at) {
            (*at)->last->later = pending;
            (*at)->last = pending;
        } else {
            *at = pending;
        }
    }
    unlock();
}

void pl_remember_halves(const struct pl_halves *halves, const struct pl_data *output, int rc,
                        const MPI_Request *request)
{
    const struct pl_pending pending = {.slot = halves->output,
                                       .other = halves->input,
                                       .data = *output,
                                       .receives = true,
                                       .whole = halves->output &&
                                                !(halves->output->flags & PL_UNKNOWN_CONTENT)};
    if (rc == MPI_SUCCESS)
        pl_remember(*request, &pending);
    else
        pl_end_halves(halves, output, rc);
}

void pl_remember_collective(const struct pl_collective_call *call, const struct pl_data *input,
                            const struct pl_data *output, int rc, const MPI_Request *request)
{
    struct pl_persistent *collective = rc == MPI_SUCCESS ? malloc(sizeof *collective) : NULL;
    if (!collective)
        return;
    *collective = (struct pl_persistent){.call = *call, .input = *input};
    collective->own_type = keep_type(&collective->input.type);
    const struct pl_pending pending = {.data = *output,
                                       .collective = collective,
                                       .receives = true,
                                       .persistent = true,
                                       .whole = !(call->flags & PL_UNKNOWN_CONTENT)};
    pl_remember(*request, &pending);
}

struct pl_pending *pl_remembered(MPI_Request request)
{
    lock();
    struct pl_pending *found = *place_of(PL_KEY(request));
    unlock();
    return found;
}

/* Takes the first of its key out of the table; NULL: nothing is known. */
static struct pl_pending *forget(MPI_Request was)
{
    lock();
    struct pl_pending **at = place_of(PL_KEY(was)), *found = *at;
    if (found && found->later) {
        found->later->next = found->next;
        found->later->last = found->last;
        *at = found->later;
    } else if (found) {
        *at = found->next;
    }
    unlock();
    return found;
}

static void free_collective(struct pl_persistent *collective)
{
    if (collective && collective->own_type)
        PMPI_Type_free(&collective->input.type);
    free(collective);
}

static void discard(struct pl_pending *pending)
{
    if (pending->own_type)
        PMPI_Type_free(&pending->data.type);
    free_collective(pending->collective);
    lock();
    pending->next = table.unused;
    table.unused = pending;
    unlock();
}

static void finish(struct pl_pending *pending, const MPI_Status *status, int64_t start, int64_t end,
                   int rc)
{
    int cancelled = 0;
    pl_end(pending->slot, start, end, rc);
    pl_end(pending->other, start, end, rc);
    if (pending->cancels && status)
        PMPI_Test_cancelled(status, &cancelled);
    if (cancelled && pending->slot)
        pending->slot->flags |= PL_CANCELLED;
    else if (pending->whole && pending->slot)
        pl_whole(pending->slot, &pending->data);
    else if (pending->receives)
        pl_received(pending->slot, &pending->data, status);
}

void pl_completed(MPI_Request was, const MPI_Status *status, int64_t start, int64_t end, int rc)
{
    struct pl_pending *pending = pl_remembered(was);
    if (!pending)
        return;
    if (pending->persistent) {
        if (pending->active)
            finish(pending, status, start, end, rc);
        pending->active = pending->cancels = false;
        pending->slot = pending->other = NULL;
        return;
    }
    pending = forget(was);
    finish(pending, status, start, end, rc);
    discard(pending);
}

/* It may go on, unseen; what a send has sent is known. */
void pl_freed(MPI_Request was)
{
    struct pl_pending *pending = forget(was);
    if (!pending)
        return;
    if (pending->slot && (!pending->persistent || pending->active)) {
        pl_end(pending->slot, 0, pending->slot->post, MPI_SUCCESS);
        pl_end(pending->other, 0, pending->slot->post, MPI_SUCCESS);
        if (pending->receives || pending->whole)
            pending->slot->flags |= PL_UNKNOWN_CONTENT;
    }
    discard(pending);
}

static void start_collective(struct pl_pending *pending, int32_t site)
{
    const struct pl_persistent *collective = pending->collective;
    const struct pl_halves halves =
        pl_begin_halves(&collective->call, &collective->input, &pending->data, site);
    pending->slot = halves.output;
    pending->other = halves.input;
}

void pl_started(MPI_Request request, int32_t site)
{
    struct pl_pending *pending = pl_remembered(request);
    if (!pending || !pending->persistent || !pl_recording())
        return;
    pending->active = true;
    if (pending->collective) {
        start_collective(pending, site);
        return;
    }
    pending->what.site = site;
    pending->slot = pl_begin(&pending->what);
    if (!pending->slot)
        return;
    if (pending->what.kind == PL_SEND && !(pending->what.flags & PL_PARTITIONED))
        pl_whole(pending->slot, &pending->data);
    else
        pl_describe(pending->slot, &pending->data);
    pl_post(pending->slot, pending->what.kind);
}

void pl_probed(MPI_Message message, MPI_Comm comm, uint32_t flags)
{
    struct messages *entry = malloc(sizeof *entry);
    if (!entry || message == MPI_MESSAGE_NULL || message == MPI_MESSAGE_NO_PROC) {
        free(entry);
        return;
    }
    lock();
    *entry = (struct messages){message, comm, flags, table.messages};
    table.messages = entry;
    unlock();
}

bool pl_probed_on(MPI_Message message, MPI_Comm *comm, uint32_t *flags)
{
    lock();
    struct messages **at = &table.messages;
    while (*at && (*at)->message != message)
        at = &(*at)->next;
    struct messages *entry = *at;
    if (entry)
        *at = entry->next;
    unlock();
    if (entry) {
        *comm = entry->comm;
        *flags = entry->flags;
    }
    free(entry);
    return entry != NULL;
}
