/* Variants that put blocks in the wrong place, of functions with a block for each rank or
 * neighbour.
 */
#ifndef PL_TEST_WRONG_BLOCKS_H
#define PL_TEST_WRONG_BLOCKS_H

#include "variant.h"

/* The first byte of element `index` of an array of `type` at `buf`; integers, for MPI_BOTTOM. */
char *data_at(const void *buf, long long index, MPI_Datatype type);

/* The first block and the last one. */
int swaps_blocks(const struct pl_call *call);
/* The last block is received one element further on. */
int one_block_misplaced(const struct pl_call *call);
/* All blocks are sent from where the first one is. */
int sends_from_one_place(const struct pl_call *call);
/* Nothing goes from the first rank to the last one. */
int skips_a_block(const struct pl_call *call);

#endif
