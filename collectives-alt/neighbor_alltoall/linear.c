/* Neighbor_alltoall by one message for each edge, all at once.
 *
 * Source: MPI 3.1, section 7.6, which defines the function by these messages.
 * Cost: d a + m b, for d neighbours and m bytes sent to all of them.
 * Restrictions: none.
 * Messages: one for each edge whose block has bytes, in the datatypes of the call, on the private
 * communicator.
 * Scratch: requests; the neighbours, which are read once. */
#include "neighbors.h"

PL_DESCRIBE(PL_ALGORITHM, neighbor_alltoall, neighbor_alltoall_linear, pl_neighbors_direct,
            "one message for each neighbour, all at once (MPI 3.1, section 7.6)");
