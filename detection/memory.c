/* Intervals of addresses. */
#include "memory.h"

#include <string.h>

int64_t pl_memory_from(const struct pl_memory *memory, int64_t address)
{
    int64_t low = 0, high = memory->count;
    while (low < high) {
        const int64_t middle = (low + high) / 2;
        if (memory->at[middle].end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Makes `wanted` places of the `had` that begin at `first`. */
static void resize(struct pl_store *store, struct pl_memory *memory, int64_t first, int64_t had,
                   int64_t wanted)
{
    if (memory->count + wanted - had > memory->room) {
        memory->room = memory->room ? 2 * memory->room : 16;
        memory->at = pl_grown(store, memory->at, (size_t)memory->room * sizeof *memory->at);
    }
    if (had != wanted)
        memmove(memory->at + first + wanted, memory->at + first + had,
                (size_t)(memory->count - first - had) * sizeof *memory->at);
    memory->count += wanted - had;
}

void pl_memory_write(struct pl_store *store, struct pl_memory *memory, int64_t start, int64_t end,
                     int64_t message)
{
    const int64_t first = pl_memory_from(memory, start);
    int64_t behind = first;
    while (behind < memory->count && memory->at[behind].start < end)
        behind++;
    struct pl_memory_part new[3];
    int64_t count = 0;
    if (first < behind && memory->at[first].start < start) {
        new[count] = memory->at[first];
        new[count++].end = start;
    }
    new[count++] = (struct pl_memory_part){start, end, message, 0};
    if (first < behind && memory->at[behind - 1].end > end) {
        const struct pl_memory_part *last = &memory->at[behind - 1];
        new[count++] = (struct pl_memory_part){end, last->end, last->message,
                                               last->offset + end - last->start};
    }
    resize(store, memory, first, behind - first, count);
    memcpy(memory->at + first, new, (size_t)count * sizeof *new);
}
