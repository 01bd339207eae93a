/* Scan as `pieces` calls of Scan on n / pieces bytes each; see split.h.
 *
 * Cost: pieces Scan(n / pieces).
 * Restrictions: contiguous types (operands.c); MPI's own operations, since the vector is cut.
 * Scratch: none. */
#include "split.h"

const struct pl_variant pl_scan_as_split = {
    .name = "scan_as_split",
    .function = PL_FN_scan,
    .kind = PL_MOCKUP,
    .restrictions = PL_CONTIGUOUS | PL_BUILTIN_OP,
    .summary = "several calls on parts of the vector (GL2)",
    .parameters = {PL_PIECES},
    .run = pl_split_elements,
};
