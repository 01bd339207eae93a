#include "system/alike.h"

#include <stdlib.h>
#include <string.h>

struct items {
    const char *items;
    size_t stride, bytes;
};

static int differ(const struct items *of, int left, int right)
{
    return memcmp(of->items + (size_t)left * of->stride, of->items + (size_t)right * of->stride,
                  of->bytes);
}

static int order(const void *left, const void *right, void *of)
{
    const int a = *(const int *)left, b = *(const int *)right, content = differ(of, a, b);
    return content ? content : (a > b) - (a < b);
}

void pl_alike(const void *items, size_t stride, size_t bytes, int count, int *first, int *scratch)
{
    struct items of = {items, stride, bytes};
    for (int i = 0; i < count; i++)
        scratch[i] = i;
    qsort_r(scratch, (size_t)count, sizeof *scratch, order, &of);
    for (int i = 0, least = 0; i < count; i++) {
        if (i == 0 || differ(&of, least, scratch[i]))
            least = scratch[i];
        first[scratch[i]] = least;
    }
}
