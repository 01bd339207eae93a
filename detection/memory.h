/* What lies where in a rank's memory, as far as messages say: intervals of addresses that do not
 * overlap, and the message that last wrote or read each. */
#ifndef PL_DETECTION_MEMORY_H
#define PL_DETECTION_MEMORY_H

#include "store.h"

struct pl_memory_part {
    int64_t start, end, message, offset; /* `offset`: of `start` in the message */
};

struct pl_memory {
    struct pl_memory_part *at; /* sorted */
    int64_t count, room;
};

/* A new interval takes the place of what it covers; what it covers in part is cut. */
void pl_memory_write(struct pl_store *store, struct pl_memory *memory, int64_t start, int64_t end,
                     int64_t message);
/* The first interval that ends behind an address. */
int64_t pl_memory_from(const struct pl_memory *memory, int64_t address);

#endif
