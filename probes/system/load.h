/* What a host did from the header to the footer, and how much of it was this launch. Seconds of
 * processor time; not a number where the kernel does not say. */
#ifndef PL_LOAD_H
#define PL_LOAD_H

#include "system/hosts.h"

/* At one moment. `own` is this process; the rest is the whole host. */
struct pl_load {
    double average; /* running processes, over the last minute */
    double busy, stolen, own;
};

struct pl_host_load {
    double average_start, average_end, busy, stolen, own;
};

void pl_load_read(struct pl_load *load);
/* The counts of a file in the form of /proc/stat and /proc/loadavg; `own` is not touched. */
void pl_load_read_files(struct pl_load *load, const char *stat, const char *loadavg);

/* Collective. By host on rank 0, to be freed; NULL elsewhere. False: rank 0 is out of memory. */
bool pl_load_gather(struct pl_host_load **loads, const struct pl_world *world,
                    const struct pl_hosts *hosts, const struct pl_load *start);

#endif
