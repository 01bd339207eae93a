/* How big the arguments of a case are: from the communication volume n of the guidelines to the
 * counts of each rank (docs/plan-and-records.md, "Plan"). Pure; counts are elements of the type. */
#ifndef PL_SHAPE_H
#define PL_SHAPE_H

#include "variant.h"

#include <stdbool.h>

struct pl_shape {
    long long total;  /* elements that n stands for, padded to whole blocks */
    long long mine;   /* this rank's part of `total`; all of it where nothing is divided */
    long long send;   /* elements of the send buffer on this rank */
    long long recv;   /* elements of the receive buffer on this rank, were it significant */
    bool significant; /* the call defines the receive buffer on this rank */
    bool undefined;   /* the call may leave anything in it: Exscan on rank 0 */
    bool inout;       /* the receive buffer is read as well */
};

struct pl_shape pl_shape_of(enum pl_function function, long long bytes, size_t type_size,
                            int nprocs, int rank, int root);

/* Part `rank` of `total` elements split as evenly as p allows; the first ranks take one more. */
long long pl_split_count(long long total, int nprocs, int rank);
/* Where that part starts. */
long long pl_split_start(long long total, int nprocs, int rank);

bool pl_function_reduces(enum pl_function function);
bool pl_function_has_root(enum pl_function function);

/* The counts and displacements fit the `int`s of MPI's interface. */
bool pl_shape_fits(enum pl_function function, long long bytes, size_t type_size, int nprocs);

#endif
