/* Where a rank sits, as far as its binding says, and what lies between two of them. */
#ifndef PL_SEAT_H
#define PL_SEAT_H

#include <hwloc.h>
#include <mpi.h>

struct pl_seat {
    char host[MPI_MAX_PROCESSOR_NAME];
    int package, core; /* hwloc's logical index; -1: bound to more than one, or not at all */
};

/* Classes of pairs of ranks, from near to far. A rank that may run in several packages is in no
 * class with its own node: it could be anywhere in it. */
enum pl_pair {
    PL_PAIR_SAME_CORE,
    PL_PAIR_SAME_SOCKET,
    PL_PAIR_OTHER_SOCKET,
    PL_PAIR_OTHER_NODE,
    PL_PAIR_UNKNOWN,
    PL_PAIR_CLASSES = PL_PAIR_UNKNOWN
};

const char *pl_pair_name(enum pl_pair pair);
enum pl_pair pl_pair_of(const struct pl_seat *a, const struct pl_seat *b);

/* Of this process. A machine without packages is one package. */
void pl_seat_read(struct pl_seat *seat, hwloc_topology_t topology);
/* The same from a set of processing units; leaves the host alone. */
void pl_seat_of_set(struct pl_seat *seat, hwloc_topology_t topology, hwloc_const_bitmap_t set);

#endif
