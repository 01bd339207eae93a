/* Where a rank sits, as far as its binding says, and what lies between two of them. */
#ifndef PL_SEAT_H
#define PL_SEAT_H

#include <mpi.h>

struct pl_seat {
    char host[MPI_MAX_PROCESSOR_NAME];
    int package, core, cache, numa; /* system/topology.h; -1: not one */
};

/* Classes of pairs of ranks, from near to far. A rank that may run in several packages is in no
 * class with its own node: it could be anywhere in it. */
enum pl_pair {
    PL_PAIR_SAME_CORE,
    PL_PAIR_SAME_CACHE,
    PL_PAIR_SAME_SOCKET,
    PL_PAIR_OTHER_NUMA, /* of the same socket */
    PL_PAIR_OTHER_SOCKET,
    PL_PAIR_OTHER_NODE,
    PL_PAIR_UNKNOWN,
    PL_PAIR_CLASSES = PL_PAIR_UNKNOWN
};

const char *pl_pair_name(enum pl_pair pair);
enum pl_pair pl_pair_of(const struct pl_seat *a, const struct pl_seat *b);

/* Of this process, which is bound in there. */
struct pl_surroundings;
void pl_seat_read(struct pl_seat *seat, const struct pl_surroundings *around);

#endif
