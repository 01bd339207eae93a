/* Data of a call as bytes: in place where they lie as they are packed, else packed by MPI. */
#include "recorder.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

static _Thread_local struct {
    char *bytes;
    size_t room;
} scratch;

static char *scratch_of(size_t bytes)
{
    if (bytes > scratch.room) {
        char *more = realloc(scratch.bytes, bytes + bytes / 2);
        if (!more)
            return NULL;
        scratch.bytes = more;
        scratch.room = bytes + bytes / 2;
    }
    return scratch.bytes;
}

static int64_t count_of(const struct pl_data *data, int block)
{
    return data->counts ? pl_number_at(data->counts, block, data->large) : data->count;
}

/* In elements from the buffer. */
static int64_t place_of(const struct pl_data *data, int block)
{
    if (!data->counts)
        return data->count * block;
    return data->displs ? pl_number_at(data->displs, block, data->large) : 0;
}

static int64_t elements(const struct pl_data *data)
{
    if (data->blocks == 0)
        return data->count;
    int64_t total = 0;
    for (int i = 0; i < data->blocks; i++)
        total += count_of(data, i);
    return total;
}

/* First and last byte + 1 of all blocks, from the buffer; true if they lie as they are packed. */
static bool span_of(const struct pl_data *data, const struct pl_datatype *type, int64_t *from,
                    int64_t *to)
{
    const int blocks = data->blocks > 0 ? data->blocks : 1;
    int64_t behind = 0;
    bool dense = type->dense, any = false;
    for (int i = 0; i < blocks; i++) {
        const int64_t count = data->blocks > 0 ? count_of(data, i) : data->count;
        const int64_t first = data->blocks > 0 ? place_of(data, i) : 0;
        if (count == 0)
            continue;
        const int64_t start = first * type->extent + type->true_lb;
        const int64_t end = (first + count - 1) * type->extent + type->true_lb + type->true_extent;
        dense = dense && (!any || start == behind);
        *from = any && *from < start ? *from : start;
        *to = any && *to > end ? *to : end;
        behind = end;
        any = true;
    }
    if (!any)
        *from = *to = 0;
    return dense;
}

void pl_describe(struct pl_slot *slot, const struct pl_data *data)
{
    const struct pl_datatype *type = pl_type_of(data->type);
    if (!type)
        return;
    const int64_t count = elements(data);
    int64_t from = 0, to = 0;
    if (!span_of(data, type, &from, &to) && count > 0)
        slot->flags |= PL_NOT_CONTIGUOUS;
    slot->bytes = count * type->size;
    slot->extent = to - from;
    slot->address = slot->bytes ? (uint64_t)((const char *)data->buffer + from) : 0;
    slot->element = type->element;
    slot->signature = pl_signature(type, count);
    if (data->counts) {
        slot->blocks = 0;
        for (int i = 0; i < data->blocks; i++)
            slot->blocks += count_of(data, i) > 0;
    }
}

/* Packed bytes of all blocks, or of so many as came; NULL where they are out of reach: too many for
 * MPI_Pack, or the last element has not come whole. */
static const char *pack(const struct pl_data *data, const struct pl_datatype *type, int64_t bytes)
{
    int at = 0;
    const int blocks = data->blocks > 0 ? data->blocks : 1;
    char *packed =
        bytes <= INT_MAX && bytes % type->size == 0 ? scratch_of((size_t)bytes + 1) : NULL;
    for (int i = 0; packed && i < blocks && at < bytes; i++) {
        const int64_t count = data->blocks > 0 ? count_of(data, i) : bytes / type->size;
        const int64_t first = data->blocks > 0 ? place_of(data, i) : 0;
        const char *from = (const char *)data->buffer + first * type->extent;
        if (PMPI_Pack(from, (int)count, data->type, packed, (int)bytes, &at, MPI_COMM_SELF) !=
            MPI_SUCCESS)
            return NULL;
    }
    return packed && at == bytes ? packed : NULL;
}

void pl_look_at(struct pl_slot *slot, const struct pl_data *data, int64_t bytes)
{
    const struct pl_datatype *type = pl_type_of(data->type);
    const char *content = "";
    if (!type || bytes < 0)
        content = NULL;
    else if (bytes > 0 && (slot->flags & PL_NOT_CONTIGUOUS))
        content = pack(data, type, bytes);
    else if (bytes > 0)
        content = (const char *)slot->address;
    if (content)
        pl_hash(slot, content, (size_t)bytes);
    else
        slot->flags |= PL_UNKNOWN_CONTENT;
}

void pl_whole(struct pl_slot *slot, const struct pl_data *data)
{
    pl_describe(slot, data);
    pl_look_at(slot, data, slot->bytes);
}
