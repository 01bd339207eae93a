/* Reduce_scatter on parallel aggregated trees: allgather_pat backwards. The nearest
 * ranks come first, so that few blocks travel far, and no message has more than A blocks, A the
 * largest power of two up to `blocks`. A = 1 is p - 1 messages of one block.
 *
 * Source: Jeaugey, "PAT: a new algorithm for all-gather and reduce-scatter operations at scale",
 * 2025 (arXiv 2506.20252). Its buffers are of A log2 p blocks; here they are of the whole vector.
 * Counts may be uneven, and 0.
 * Cost, equal blocks, with P the power of two from p on: (log2 A + P/A - 1) a + (p-1)/p n (b + g),
 * and 2 n bytes copied at most.
 * Restrictions: the operation must be commutative, since block i is reduced from rank i on, round a
 * circle.
 * Messages: one a round to a rank and from another, on the private communicator; empty ones are not
 * sent.
 * Scratch: a vector, and two messages of at most a vector. */
#include "parameters.h"
#include "reductions.h"

PL_DESCRIBE(PL_ALGORITHM, reduce_scatter, reduce_scatter_pat, pl_reduce_scatter_on_parallel_trees,
            "trees in parallel, the near ranks first, few blocks a message (PAT, Jeaugey 2025)",
            .restrictions = PL_COMMUTATIVE, .scratch_volumes = 4, .parameters = {PL_TREE_BLOCKS},
            .least_ranks = 4);
