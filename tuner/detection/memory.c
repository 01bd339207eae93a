/* Parts of memory, in chunks. */
#include "memory.h"

#include <string.h>

static const struct pl_memory_part *last_of(const struct pl_memory_chunk *chunk)
{
    return &chunk->at[chunk->count - 1];
}

struct pl_memory_place pl_memory_from(const struct pl_memory *memory, int64_t address)
{
    int64_t low = 0, high = memory->count;
    while (low < high) {
        const int64_t middle = (low + high) / 2;
        if (last_of(memory->chunks[middle])->end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    struct pl_memory_place place = {low, 0};
    if (low == memory->count)
        return place;
    const struct pl_memory_chunk *chunk = memory->chunks[low];
    high = chunk->count;
    while (place.at < high) {
        const int64_t middle = (place.at + high) / 2;
        if (chunk->at[middle].end <= address)
            place.at = middle + 1;
        else
            high = middle;
    }
    return place;
}

void pl_memory_next(const struct pl_memory *memory, struct pl_memory_place *place)
{
    if (++place->at == memory->chunks[place->chunk]->count) {
        place->chunk++;
        place->at = 0;
    }
}

/* A chunk more, which is empty, before the one that is there. */
static struct pl_memory_chunk *add_chunk(struct pl_store *store, struct pl_memory *memory,
                                         int64_t number)
{
    if (memory->count == memory->room) {
        memory->room = memory->room ? 2 * memory->room : 4;
        memory->chunks =
            pl_grown(store, memory->chunks, (size_t)memory->room * sizeof *memory->chunks);
    }
    struct pl_memory_chunk *chunk = pl_get(store, 1, sizeof *chunk);
    memmove(memory->chunks + number + 1, memory->chunks + number,
            (size_t)(memory->count - number) * sizeof *memory->chunks);
    memory->chunks[number] = chunk;
    memory->count++;
    return chunk;
}

/* Moves the second half of a full chunk into one of its own; the place moves with its part. */
static void halve(struct pl_store *store, struct pl_memory *memory, struct pl_memory_place *place)
{
    struct pl_memory_chunk *second = add_chunk(store, memory, place->chunk + 1);
    struct pl_memory_chunk *first = memory->chunks[place->chunk];
    second->count = PL_CHUNK_PARTS / 2;
    first->count = PL_CHUNK_PARTS - second->count;
    memcpy(second->at, first->at + first->count, (size_t)second->count * sizeof *second->at);
    if (place->at > first->count) {
        place->chunk++;
        place->at -= first->count;
    }
}

/* Before the part that is there. */
static void insert(struct pl_store *store, struct pl_memory *memory, struct pl_memory_place place,
                   struct pl_memory_part part)
{
    if (memory->count == 0)
        add_chunk(store, memory, 0);
    if (place.chunk == memory->count) {
        place.chunk--;
        place.at = memory->chunks[place.chunk]->count;
    }
    if (memory->chunks[place.chunk]->count == PL_CHUNK_PARTS)
        halve(store, memory, &place);
    struct pl_memory_chunk *chunk = memory->chunks[place.chunk];
    memmove(chunk->at + place.at + 1, chunk->at + place.at,
            (size_t)(chunk->count - place.at) * sizeof *chunk->at);
    chunk->at[place.at] = part;
    chunk->count++;
}

/* The place is that of the next part then. */
static void take_out(struct pl_memory *memory, struct pl_memory_place *place)
{
    struct pl_memory_chunk *chunk = memory->chunks[place->chunk];
    chunk->count--;
    memmove(chunk->at + place->at, chunk->at + place->at + 1,
            (size_t)(chunk->count - place->at) * sizeof *chunk->at);
    if (chunk->count == 0) {
        memory->count--;
        memmove(memory->chunks + place->chunk, memory->chunks + place->chunk + 1,
                (size_t)(memory->count - place->chunk) * sizeof *memory->chunks);
        pl_give_back(chunk);
    } else if (place->at == chunk->count) {
        place->chunk++;
        place->at = 0;
    }
}

void pl_memory_write(struct pl_store *store, struct pl_memory *memory, int64_t start, int64_t end,
                     int64_t message)
{
    const struct pl_memory_part new = {start, end, message, 0};
    struct pl_memory_place place = pl_memory_from(memory, start);
    struct pl_memory_part *part = pl_memory_at(memory, place);
    if (part && part->start == start && part->end == end) {
        *part = new;
        return;
    }
    if (part && part->start < start) {
        const struct pl_memory_part tail = {end, part->end, part->message,
                                            part->offset + end - part->start};
        part->end = start;
        pl_memory_next(memory, &place);
        if (tail.end > end)
            insert(store, memory, place, tail);
        place = pl_memory_from(memory, start);
    }
    while ((part = pl_memory_at(memory, place)) && part->start < end) {
        if (part->end > end) {
            part->offset += end - part->start;
            part->start = end;
            break;
        }
        take_out(memory, &place);
    }
    insert(store, memory, place, new);
}
