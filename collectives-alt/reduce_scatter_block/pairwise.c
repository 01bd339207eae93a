/* Reduce_scatter_block by pairwise exchange: in step i everybody sends its operands for rank + i
 * and adds what comes from rank - i.
 *
 * Source: Thakur, Rabenseifner, Gropp, IJHPCA 19(1), 2005. Equal counts.
 * Cost: (p-1) a + (p-1)/p n b + (p-1)/p n g.
 * Restrictions: none. If the operation does not commute, the operands of the ranks above are
 * collected on their own and added last: the order is kept.
 * Messages: p - 1 from every rank, each to another one, on the private communicator; empty ones
 * are not sent.
 * Receives are posted a step ahead.
 * Scratch: two blocks; one more in place, and one more if the operation does not commute. */
#include "reductions.h"

PL_DESCRIBE(PL_ALGORITHM, reduce_scatter_block, reduce_scatter_block_pairwise,
            pl_reduce_scatter_by_pairs, "pairwise exchange in p - 1 steps (Thakur et al. 2005)",
            .scratch_volumes = 5);
