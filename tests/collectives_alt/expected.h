/* What a case must lead to. */
#ifndef PL_TEST_EXPECTED_H
#define PL_TEST_EXPECTED_H

#include "cases.h"

/* The receive side of this rank after a correct call, out of the content that start[] holds before
 * it. Data movers: what the library's own function does. Reductions: operands of all ranks, folded
 * in the order of ranks by MPI_Reduce_local; the library's own function is checked against that
 * like any variant. So a defect of a library's algorithm (Open MPI 4.1.4 has one in its ring
 * Allreduce for types with a lower bound) is never what variants are measured by.
 * False: the library's call failed. */
bool expect(enum pl_function function, const struct setting *setting, const struct area start[2],
            struct area *expected);
void expected_free(void);

#endif
