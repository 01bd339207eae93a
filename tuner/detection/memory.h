/* What lies where in a rank's memory, as far as messages say: parts of it that do not overlap, and
 * the message that last wrote or read each. They are sorted, and stand in chunks: a new one moves
 * few others, however many there are. */
#ifndef PL_DETECTION_MEMORY_H
#define PL_DETECTION_MEMORY_H

#include "store.h"

#include <stdbool.h>

enum { PL_CHUNK_PARTS = 128 };

struct pl_memory_part {
    int64_t start, end, message, offset; /* `offset`: of `start` in the message */
};

struct pl_memory_chunk {
    int64_t count; /* never 0 */
    struct pl_memory_part at[PL_CHUNK_PARTS];
};

struct pl_memory {
    struct pl_memory_chunk **chunks;
    int64_t count, room;
};

/* A place in it, which holds until something is written. */
struct pl_memory_place {
    int64_t chunk, at;
};

/* A new part takes the place of what it covers; what it covers in part is cut. */
void pl_memory_write(struct pl_store *store, struct pl_memory *memory, int64_t start, int64_t end,
                     int64_t message);
/* The first part that ends behind an address. */
struct pl_memory_place pl_memory_from(const struct pl_memory *memory, int64_t address);
void pl_memory_next(const struct pl_memory *memory, struct pl_memory_place *place);

/* NULL: behind the last one. */
static inline struct pl_memory_part *pl_memory_at(const struct pl_memory *memory,
                                                  struct pl_memory_place place)
{
    return place.chunk < memory->count ? &memory->chunks[place.chunk]->at[place.at] : NULL;
}

#endif
