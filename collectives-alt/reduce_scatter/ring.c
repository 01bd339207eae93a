/* Reduce_scatter on a ring: in p - 1 steps each block passes by all ranks, which add their
 * operands, and ends on its own.
 *
 * Source: the ring of Open MPI; Patarasuk, Yuan, JPDC 69(2), 2009. Counts may be uneven, and 0.
 * Cost: (p-1) (a + m b + m g) for the largest block m; (p-1) a + (p-1)/p n (b + g) if all are
 * equal.
 * Restrictions: the operation must be commutative, since block i is reduced in the order i + 1, …,
 * i.
 * Messages: p - 1 to the next rank, on the private communicator; empty ones are not sent.
 * Receives are posted a step ahead.
 * Scratch: three of the largest blocks. */
#include "reductions.h"

PL_DESCRIBE(PL_ALGORITHM, reduce_scatter, reduce_scatter_ring, pl_reduce_scatter_by_ring,
            "a ring of p - 1 steps (Patarasuk and Yuan 2009)", .restrictions = PL_COMMUTATIVE,
            .scratch_volumes = 4);
