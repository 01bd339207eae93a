/* Reduce_scatter on two chains of neighbours: for each block one result comes up from rank 0 and
 * one down from the last rank, and they meet on the block's own rank.
 *
 * Source: the ring of Patarasuk, Yuan, JPDC 69(2), 2009, cut open so that the order is kept. Counts
 * may be uneven, and 0.
 * Cost: (p-1) (a + m b + m g) for the largest block m, if a rank can exchange with both neighbours
 * at once; else 2 m b a step.
 * Restrictions: none. Operands are added from both ends towards the own rank: the order is kept.
 * Messages: at most p - 1 to each neighbour, on the private communicator; empty ones are not sent.
 * Receives are posted a step ahead.
 * Scratch: six of the largest blocks. */
#include "reductions.h"

PL_DESCRIBE(PL_ALGORITHM, reduce_scatter, reduce_scatter_chains, pl_reduce_scatter_by_chains,
            "two chains of neighbours, which keep the order (Patarasuk and Yuan 2009, cut open)",
            .scratch_volumes = 7, .least_ranks = 4);
