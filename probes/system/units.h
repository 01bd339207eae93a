/* Processing units by the numbers of the operating system, and where threads may run. The kernel is
 * asked: it needs no library. */
#ifndef PL_UNITS_H
#define PL_UNITS_H

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>

enum { PL_UNITS = 8192 }; /* as many as a kernel can have */

struct pl_units {
    cpu_set_t set[PL_UNITS / CPU_SETSIZE];
};

/* Where the calling thread may run. False: the kernel does not say. */
bool pl_units_bound(struct pl_units *units);
/* Where it might run if it were not bound: what cgroup and administrator leave of the machine. */
bool pl_units_allowed(struct pl_units *units);
/* The calling thread to one unit. False: that cannot be. */
bool pl_units_bind(int unit);

bool pl_units_has(const struct pl_units *units, int unit);
int pl_units_count(const struct pl_units *units);
/* As the kernel writes lists: "0-3,8". */
void pl_units_text(const struct pl_units *units, char *text, size_t size);

#endif
