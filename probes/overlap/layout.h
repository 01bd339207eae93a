/* How the bytes of a message lie in memory. */
#ifndef PL_LAYOUT_H
#define PL_LAYOUT_H

#include "overlap/bench.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a message of `bytes` is in this layout; `extent` is the memory that it lies in. The others
 * send whole blocks of 32 bytes: the first that hold `bytes`. The type is to be freed. */
struct pl_message {
    MPI_Datatype type;
    int count;
    int64_t bytes; /* that are sent */
    size_t extent;
};

struct pl_message pl_message_of(enum pl_layout layout, int bytes);
void pl_message_free(struct pl_message *message);

/* Whether byte `at` of the memory is sent. */
bool pl_layout_covers(enum pl_layout layout, size_t at);
/* Of `extent` bytes of memory those up to the last one that is sent. */
size_t pl_layout_last(enum pl_layout layout, size_t extent);

/* Every sent byte of `memory` gets a value of its own (of the stream `seed`), all others 0. */
void pl_layout_fill(enum pl_layout layout, char *memory, size_t extent, uint64_t seed);
/* Whether `memory` holds what pl_layout_fill would have put there. */
bool pl_layout_holds(enum pl_layout layout, const char *memory, size_t extent, uint64_t seed);

#endif
