/* Random arguments for a case, and the comparison of two results. Pure: no MPI calls.
 *
 * Integers and bits are compared bit by bit, and so is whatever is only moved. Sums and products of
 * floating-point numbers may be associated in any order by a correct implementation; two results of
 * p operands then differ by at most 2 gamma_{p-1} of the sum of their magnitudes (Higham, Accuracy
 * and Stability of Numerical Algorithms, 2nd ed., sections 3.1 and 4.2), gamma_k = k u / (1 - k u).
 */
#ifndef PL_DATA_H
#define PL_DATA_H

#include "measure/random.h"

#include <stdbool.h>
#include <stddef.h>

/* Fill `elements` of a type (index of types.h). `op` is the operation that `nprocs` ranks will
 * apply, -1 where data are only moved (any bits at all then). */
void pl_data_fill(void *buffer, size_t elements, int type, int op, int nprocs,
                  struct pl_random random);

/* Index of the first element that differs by more than it may; `elements` when none does. */
size_t pl_data_compare(const void *got, const void *wanted, size_t elements, int type, int op,
                       int nprocs);

#endif
