/* Orders for qsort, the smallest first. */
#ifndef PL_ASCENDING_H
#define PL_ASCENDING_H

#include <stdint.h>

#define PL_ASCENDING(name, type)                                                                   \
    static inline int name(const void *left, const void *right)                                    \
    {                                                                                              \
        const type a = *(const type *)left, b = *(const type *)right;                              \
        return (a > b) - (a < b);                                                                  \
    }
PL_ASCENDING(pl_by_ns, int64_t)
PL_ASCENDING(pl_by_real, double)

#endif
