/* Where the elements of a buffer lie: one behind the other from its start, or, in a trial's call,
 * from another address and with gaps. Pure: no MPI calls. */
#ifndef PL_SIDE_H
#define PL_SIDE_H

#include <stdbool.h>
#include <stddef.h>

#define PL_UNTOUCHED 0xA5 /* in each byte that a call must not write */

struct pl_placed {
    size_t offset;        /* of the buffer that the call gets, in the memory for it */
    size_t start, extent; /* of an element in its place, and of the place; extent 0: no gaps */
};

/* Bytes from the offset to behind the last of `elements` of `size` bytes each. */
size_t pl_side_span(const struct pl_placed *side, size_t elements, size_t size);

/* Elements that lie one behind the other at `at` to their places; gaps become PL_UNTOUCHED. */
void pl_side_spread(const struct pl_placed *side, unsigned char *at, size_t elements, size_t size);
/* The way back. False: something has been written to a gap. */
bool pl_side_join(const struct pl_placed *side, unsigned char *at, size_t elements, size_t size);

bool pl_untouched(const unsigned char *at, size_t bytes);

#endif
