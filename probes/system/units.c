#include "system/units.h"

#include <stdio.h>
#include <string.h>

bool pl_units_bound(struct pl_units *units)
{
    memset(units, 0, sizeof *units);
    return sched_getaffinity(0, sizeof units->set, units->set) == 0;
}

/* Of all units the kernel leaves those that there are and that the cgroup has. Where it lets nobody
 * ask, what the thread is bound to is all that is known. */
bool pl_units_allowed(struct pl_units *units)
{
    struct pl_units bound;
    if (!pl_units_bound(&bound))
        return false;
    memset(units, 0xff, sizeof *units);
    const bool asked = sched_setaffinity(0, sizeof units->set, units->set) == 0;
    const bool known = pl_units_bound(units);
    return (!asked || sched_setaffinity(0, sizeof bound.set, bound.set) == 0) && known;
}

bool pl_units_bind(int unit)
{
    struct pl_units one = {0};
    if (unit < 0 || unit >= PL_UNITS)
        return false;
    CPU_SET_S((size_t)unit, sizeof one.set, one.set);
    return sched_setaffinity(0, sizeof one.set, one.set) == 0;
}

bool pl_units_has(const struct pl_units *units, int unit)
{
    return unit >= 0 && CPU_ISSET_S((size_t)unit, sizeof units->set, units->set);
}

int pl_units_count(const struct pl_units *units)
{
    return CPU_COUNT_S(sizeof units->set, units->set);
}

void pl_units_text(const struct pl_units *units, char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (int unit = 0, last; unit < PL_UNITS && used < size; unit = last + 1) {
        last = unit;
        if (!pl_units_has(units, unit))
            continue;
        while (pl_units_has(units, last + 1))
            last++;
        const char *before = used ? "," : "";
        used +=
            (size_t)(last > unit ? snprintf(text + used, size - used, "%s%d-%d", before, unit, last)
                                 : snprintf(text + used, size - used, "%s%d", before, unit));
    }
}
