/* Allreduce as `pieces` calls of Allreduce on n / pieces bytes each; see split.h.
 *
 * Cost: pieces Allreduce(n / pieces).
 * Restrictions: contiguous types (operands.c); MPI's own operations, since the vector is cut.
 * Scratch: none. */
#include "split.h"

const struct pl_variant pl_allreduce_as_split = {
    .name = "allreduce_as_split",
    .function = PL_FN_allreduce,
    .kind = PL_MOCKUP,
    .restrictions = PL_CONTIGUOUS | PL_BUILTIN_OP,
    .summary = "several calls on parts of the vector (GL2)",
    .parameters = {PL_PIECES},
    .run = pl_split_elements,
};
