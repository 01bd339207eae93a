/* Allgather with the largest distance first: a round at distance d brings the blocks of the ranks
 * d, 3 d, 5 d, … before, all of which the rank d before has. The last round, which moves half of
 * all blocks, is between neighbours; in Bruck's algorithm it goes farthest.
 *
 * Source: Loch, Koslovski, "Sparbit: a new logarithmic-cost and data locality-aware MPI Allgather
 * algorithm", SBAC-PAD 2021.
 * Cost: ceil(log2 p) a + (p-1)/p n b, and 2 (p-1)/p n bytes copied: blocks of a round are sent as
 * one message, where the paper sends each alone.
 * Restrictions: none.
 * Messages: ceil(log2 p) from each rank, on the private communicator.
 * Scratch: two messages of at most p/2 blocks; with a derived receive type n bytes more. */
#include "gathered.h"
#include "parameters.h"

PL_DESCRIBE(PL_ALGORITHM, allgather, allgather_sparbit, pl_allgather_far_first,
            "ceil(log2 p) rounds, the far ranks first (Sparbit, Loch, Koslovski 2021)",
            .scratch_volumes = 2, .parameters = {PL_FIXED(INT_MAX)}, .least_ranks = 4);
