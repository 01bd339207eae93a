#include "measure/side.h"

#include <string.h>

bool pl_untouched(const unsigned char *at, size_t bytes)
{
    return bytes == 0 || (at[0] == PL_UNTOUCHED && memcmp(at, at + 1, bytes - 1) == 0);
}

size_t pl_side_span(const struct pl_placed *side, size_t elements, size_t size)
{
    return elements * (side->extent ? side->extent : size);
}

void pl_side_spread(const struct pl_placed *side, unsigned char *at, size_t elements, size_t size)
{
    unsigned char element[16];
    for (size_t i = side->extent ? elements : 0; i-- > 0;) { /* places are behind what is left */
        memcpy(element, at + i * size, size);
        memset(at + i * side->extent, PL_UNTOUCHED, side->extent);
        memcpy(at + i * side->extent + side->start, element, size);
    }
}

bool pl_side_join(const struct pl_placed *side, unsigned char *at, size_t elements, size_t size)
{
    const size_t end = side->start + size;
    bool good = true;
    for (size_t i = 0; side->extent && i < elements; i++) {
        const unsigned char *place = at + i * side->extent;
        good &= pl_untouched(place, side->start) && pl_untouched(place + end, side->extent - end);
        memmove(at + i * size, place + side->start, size);
    }
    return good;
}
