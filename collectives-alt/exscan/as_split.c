/* Exscan as `pieces` calls of Exscan on n / pieces bytes each; see split.h.
 *
 * Cost: pieces Exscan(n / pieces).
 * Restrictions: contiguous types (operands.c); MPI's own operations, since the vector is cut.
 * Scratch: none. */
#include "split.h"

const struct pl_variant pl_exscan_as_split = {
    .name = "exscan_as_split",
    .function = PL_FN_exscan,
    .kind = PL_MOCKUP,
    .restrictions = PL_CONTIGUOUS | PL_BUILTIN_OP,
    .summary = "several calls on parts of the vector (GL2)",
    .parameters = {PL_PIECES},
    .run = pl_split_elements,
};
