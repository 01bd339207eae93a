/* Sets of processing units from lists: "0-3,8". */
#ifndef TEST_UNITS_H
#define TEST_UNITS_H

#include "system/units.h"

#include <stdio.h>

static inline struct pl_units units_of(const char *list)
{
    struct pl_units units = {0};
    for (int from, to, read; sscanf(list, "%d%n", &from, &read) == 1;
         list += read + (list[read] == ',')) {
        to = from;
        if (list[read] == '-') {
            int more = 0;
            sscanf(list + read + 1, "%d%n", &to, &more);
            read += 1 + more;
        }
        for (; from <= to; from++)
            CPU_SET_S((size_t)from, sizeof units.set, units.set);
    }
    return units;
}

#endif
