/* Which of many things are the same. Pure. */
#ifndef PL_ALIKE_H
#define PL_ALIKE_H

#include <stddef.h>

/* first[i]: the least index of an item that begins with the same `bytes` as item i; items are
 * `stride` apart. n log n. `scratch` has room for `count` too. */
void pl_alike(const void *items, size_t stride, size_t bytes, int count, int *first, int *scratch);

#endif
