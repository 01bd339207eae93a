/* Events, from the call that begins one to what is known at its end. */
#include "recorder.h"

#include <string.h>

static _Thread_local int thread = -1;
static atomic_int threads;

struct pl_slot *pl_begin(const struct pl_what *what)
{
    const struct pl_member *member;
    struct pl_slot *slot;
    const bool message = what->kind == PL_SEND || what->kind == PL_RECEIVE;
    if (!pl_recording() || (message && what->peer == MPI_PROC_NULL) ||
        what->comm == MPI_COMM_NULL ||
        !(member = what->member ? what->member : pl_member_of(what->comm)) || !(slot = pl_take()))
        return NULL;
    if (thread < 0)
        thread = atomic_fetch_add(&threads, 1);
    slot->peer = what->peer;
    slot->tag = what->tag;
    slot->comm = member->id;
    slot->site = what->site;
    slot->flags = what->flags | PL_INCOMPLETE;
    if (what->kind == PL_RECEIVE && what->peer == MPI_ANY_SOURCE) {
        slot->flags |= PL_ANY_SOURCE;
        slot->peer = -1;
    }
    if (what->kind == PL_RECEIVE && what->tag == MPI_ANY_TAG) {
        slot->flags |= PL_ANY_TAG;
        slot->tag = -1;
    }
    slot->function = (uint16_t)what->function;
    slot->mode = (uint8_t)what->mode;
    slot->thread = (uint16_t)thread;
    slot->blocks = -1;
    return slot;
}

void pl_post(struct pl_slot *slot, enum pl_kind kind)
{
    if (!slot)
        return;
    slot->post = slot->start = slot->end = pl_now();
    atomic_store_explicit(&slot->kind, (uint8_t)kind, memory_order_release);
}

void pl_end(struct pl_slot *slot, int64_t start, int64_t end, int rc)
{
    if (!slot)
        return;
    slot->start = start ? start : slot->post;
    slot->end = end;
    slot->flags &= ~(uint32_t)PL_INCOMPLETE;
    if (rc != MPI_SUCCESS)
        slot->flags |= PL_FAILED;
}

static int64_t bytes_of(const MPI_Status *status)
{
    int count;
    MPI_Count large;
    if (PMPI_Get_count(status, MPI_BYTE, &count) == MPI_SUCCESS && count != MPI_UNDEFINED)
        return count;
    return PMPI_Get_elements_x(status, MPI_BYTE, &large) == MPI_SUCCESS ? (int64_t)large : -1;
}

/* Some libraries leave the status of MPI_Isendrecv empty: then all that there was room for is taken
 * to have come. */
static bool is_empty(const struct pl_slot *slot, const MPI_Status *status)
{
    return (!(slot->flags & PL_ANY_SOURCE) && slot->peer != status->MPI_SOURCE) ||
           (!(slot->flags & PL_ANY_TAG) && slot->tag != status->MPI_TAG);
}

void pl_received(struct pl_slot *slot, const struct pl_data *data, const MPI_Status *status)
{
    if (!slot)
        return;
    if (slot->flags & PL_NONBLOCKING && slot->flags & PL_EXCHANGE && is_empty(slot, status)) {
        pl_look_at(slot, data, slot->bytes);
        return;
    }
    const struct pl_datatype *type = pl_type_of(data->type);
    const int64_t bytes = bytes_of(status);
    slot->peer = status->MPI_SOURCE;
    slot->tag = status->MPI_TAG;
    if (slot->flags & PL_FAILED || bytes < 0 || !type) {
        slot->flags |= PL_UNKNOWN_CONTENT;
        return;
    }
    if (bytes != slot->bytes) {
        struct pl_data come = *data;
        come.count = type->size ? (bytes + type->size - 1) / type->size : 0;
        slot->flags &= ~(uint32_t)PL_NOT_CONTIGUOUS;
        pl_describe(slot, &come);
        slot->bytes = bytes;
    }
    pl_look_at(slot, data, bytes);
}

struct pl_slot *pl_send(const struct pl_what *what, const struct pl_data *data)
{
    struct pl_slot *slot = data->count >= 0 ? pl_begin(what) : NULL;
    if (slot)
        pl_whole(slot, data);
    pl_post(slot, PL_SEND);
    return slot;
}

struct pl_slot *pl_receive(const struct pl_what *what, const struct pl_data *data)
{
    struct pl_slot *slot = data->count >= 0 ? pl_begin(what) : NULL;
    if (slot)
        pl_describe(slot, data);
    pl_post(slot, PL_RECEIVE);
    return slot;
}
