/* What a case must lead to. */
#ifndef PL_TEST_EXPECTED_H
#define PL_TEST_EXPECTED_H

#include "cases.h"

/* The receive side of this rank after a correct call, out of the content that start[] holds before
 * it. No collective of the library is asked, for it may be wrong (variants.c has the defects that
 * were found): what the other ranks have is a function of setting and rank, so every block is
 * copied from there, and operands are folded in the order of ranks by MPI_Reduce_local. The
 * library's own function is then checked like any variant. */
void expect(enum pl_function function, const struct setting *setting, const struct area start[2],
            struct area *expected);
void expected_free(void);

#endif
