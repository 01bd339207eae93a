/* Split-robustness as a variant: `pieces` calls of n / pieces bytes of the library's own function.
 *
 * Source: guideline GL2 of Hunold, Carpen-Amarie, Luebbe, Traeff, Euro-Par 2016, appendix A, which
 * computes k T(n / k); here it is measured, with the copies that put every piece in its place.
 * Pieces differ by at most one element (data movers: one byte); empty ones are not called, but
 * for a call without data, which stays one call. All of it follows from values that are equal on
 * all ranks. */
#ifndef PL_SPLIT_H
#define PL_SPLIT_H

#include "parameters.h"
#include "tools.h"

struct pl_piece {
    int first, count;
};

/* Calls to make: as the parameter says, but none for less than one of `count` things; one for
 * nothing at all. */
int pl_pieces(const struct pl_call *call, int count);
/* Piece j of `count` things in `pieces` pieces. */
struct pl_piece pl_piece(int count, int pieces, int j);
/* Tables (pl_tables) of n elements in p pieces. */
pl_fill pl_piece_blocks;

/* The whole body for Reduce, Allreduce, Scan and Exscan, element by element; MPI_IN_PLACE
 * and all layouts pass through. No scratch. */
int pl_split_elements(const struct pl_call *call);

/* One variant of that kind. Cost: `pieces` calls of n / pieces bytes. Restrictions: contiguous
 * types (operands.c); MPI's own operations, since the vector is cut. */
#define PL_SPLIT_ELEMENTS(symbol)                                                                  \
    PL_DESCRIBE(PL_MOCKUP, symbol, symbol##_as_split, pl_split_elements,                           \
                "several calls on parts of the vector (GL2)",                                      \
                .restrictions = PL_CONTIGUOUS | PL_BUILTIN_OP, .parameters = {PL_PIECES})

#endif
