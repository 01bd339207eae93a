/* How fast contents are hashed: prints for doubles, integers and bytes and each size the best of
 * many calls in GB/s. */
#include "recorder/hash.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(void)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return (double)at.tv_sec + (double)at.tv_nsec * 1e-9;
}

static double best_of(enum pl_element element, const void *content, size_t bytes)
{
    struct pl_slot slot = {.element = (uint8_t)element};
    const int calls = bytes < 4096 ? 100 : 1, times = bytes > 1 << 20 ? 20 : 2000;
    double best = 1e9;
    for (int i = 0; i < times; i++) {
        const double start = now();
        for (int k = 0; k < calls; k++)
            pl_hash(&slot, content, bytes);
        const double each = (now() - start) / calls;
        best = each < best ? each : best;
    }
    return best;
}

int main(void)
{
    static const enum pl_element elements[] = {PL_FLOAT64, PL_INT32, PL_BYTE};
    static const char *const names[] = {"double", "int", "byte"};
    static const size_t sizes[] = {8, 64, 1024, 65536, 16 << 20};
    double *content = malloc(sizes[4]);
    if (!content)
        return 1;
    for (size_t i = 0; i < sizes[4] / sizeof *content; i++)
        content[i] = 0.37 * (double)i - 1000;
    for (int e = 0; e < 3; e++)
        for (int s = 0; s < 5; s++) {
            const double best = best_of(elements[e], content, sizes[s]);
            printf("%s %zu %.1f %.2f\n", names[e], sizes[s], best * 1e9,
                   (double)sizes[s] / best / 1e9);
        }
    return 0;
}
