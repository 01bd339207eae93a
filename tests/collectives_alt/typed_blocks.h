/* The arguments of one side of MPI_Alltoallw, drawn at random: for each rank a block of its own
 * datatype, at a displacement in bytes. */
#ifndef PL_TEST_TYPED_BLOCKS_H
#define PL_TEST_TYPED_BLOCKS_H

#include "draw.h"

enum { TYPED_RANKS = 64 };

/* What all ranks draw alike. */
struct typed_common {
    unsigned long long seed;
    int density, most; /* blocks that are not empty, in percent; the most elements of a block */
    bool in_place;     /* blocks between two ranks are the same in both directions */
};

/* Draws the seed and the density alone. */
struct typed_common typed_common_draw(struct draw *draw);

struct typed_blocks {
    int counts[TYPED_RANKS], displs[TYPED_RANKS];
    MPI_Datatype types[TYPED_RANKS];
    struct form forms[TYPED_RANKS];
    size_t bytes, zero; /* memory with a guard at both ends; where the buffer argument points */
};

/* The blocks that `rank` of p ranks sends, or receives. They lie in any order with gaps between
 * them; displacements may be negative. Empty blocks have no elements, or elements without data, or
 * no datatype where the library takes that. */
void typed_blocks_make(struct typed_blocks *blocks, const struct typed_common *common, bool sends,
                       int p, int rank, size_t guard, struct draw *own);
void typed_blocks_free(struct typed_blocks *blocks, int p);

#endif
