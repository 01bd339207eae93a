/* Cold caches: how large areas are, and where buffers cycle to. */
#include "check.h"

#include "measure/cache.h"

#include <stdlib.h>

#define MIB ((size_t)1 << 20)

static void check_areas(void)
{
    const struct pl_cache_sizes sizes = {.private_bytes = 2 * MIB,
                                         .largest_bytes = 256 * MIB,
                                         .memory_bytes = 64 * 1024 * MIB,
                                         .line_bytes = 64};
    CHECK(pl_cache_area(&sizes, 4, 4096, 0) == 512 * MIB);
    /* Two areas for each of 64 ranks: an eighth of the memory. */
    CHECK(pl_cache_area(&sizes, 64, 4096, 0) == 64 * MIB);
    /* So many ranks that the private cache decides, and a message that needs more. */
    CHECK(pl_cache_area(&sizes, 4096, 4096, 0) == 4 * MIB);
    CHECK(pl_cache_area(&sizes, 4096, 64 * MIB, 0) >= 128 * MIB);
    /* What a plan asks for, in whole pages, however much memory there is. */
    CHECK(pl_cache_area(&sizes, 64, 4096, 3 * MIB - 1) == 3 * MIB);
    CHECK(pl_cache_area(&sizes, 64, 64 * MIB, 3 * MIB) >= 128 * MIB);
}

/* Every message lies in the area and starts behind the one before; a byte is used again only after
 * all the rest of the area was passed over, and messages of one line come to every line. */
static void check_cycle(size_t bytes, size_t size)
{
    enum { PAGE = 4096, LINE = 64, TURNS = 2 * PAGE / LINE };
    unsigned turn = 0, before = 0;
    size_t end = 0, passed = 0;
    int inside = 1, onward = 1, aligned = 1, lines = 0;
    unsigned char *seen = calloc(size / LINE + 1, 1);
    for (int i = 0; turn < TURNS && i < 10000000; i++) {
        size_t start = pl_cache_next(end, bytes, size, PAGE, LINE, &turn);
        inside &= start + bytes <= size;
        aligned &= start % LINE == 0 && (turn > 0 || start % PAGE == 0);
        if (turn == before)
            onward &= start >= end && start < end + PAGE;
        else
            onward &= start < PAGE && size - end < bytes + PAGE;
        before = turn;
        end = start + bytes;
        passed += (bytes + LINE - 1) / LINE * LINE;
        if (!seen[start / LINE])
            lines += seen[start / LINE] = 1;
    }
    CHECK(inside && onward && aligned && turn == TURNS && passed >= size);
    if (bytes <= LINE)
        CHECK((size_t)lines >= (size - PAGE) / LINE);
    free(seen);
}

int main(void)
{
    check_areas();
    check_cycle(1, MIB);
    check_cycle(64, MIB);
    check_cycle(5000, MIB);
    check_cycle(65536, MIB);
    check_cycle(500000, MIB + 3 * 4096);
    return check_done();
}
