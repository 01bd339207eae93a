/* How big the arguments of a case are: from the communication volume n of the guidelines to the
 * counts of each rank (docs/plan-and-records.md, "Plan"). Pure; counts are elements of the type. */
#ifndef PL_SHAPE_H
#define PL_SHAPE_H

#include "variant.h"

#include <stdbool.h>

/* How n is divided where parts may differ in length (docs/plan-and-records.md, "Count shapes"). */
enum pl_counts { PL_COUNTS_EQUAL, PL_COUNTS_LINEAR, PL_COUNTS_LAST, PL_COUNTS_HALF, PL_COUNTS };
extern const char *const pl_counts_names[PL_COUNTS];

/* The ranks that share n, and the lengths of their parts. */
struct pl_shares {
    int nprocs;
    enum pl_counts counts;
};

struct pl_shape {
    struct pl_shares parts;
    long long total;  /* elements that n stands for, padded to whole blocks */
    long long mine;   /* this rank's part of `total`; all of it where nothing is divided */
    long long send;   /* elements of the send buffer on this rank */
    long long recv;   /* elements of the receive buffer on this rank, were it significant */
    bool significant; /* the call defines the receive buffer on this rank */
    bool undefined;   /* the call may leave anything in it: Exscan on rank 0 */
    bool inout;       /* the receive buffer is read as well */
};

/* Where parts are equal by definition, `parts.counts` changes nothing. */
struct pl_shape pl_shape_of(enum pl_function function, long long bytes, size_t type_size,
                            struct pl_shares parts, int rank, int root);

/* Where part `rank` of `total` elements starts; the parts of all ranks follow each other. */
long long pl_part_start(long long total, struct pl_shares parts, int rank);
/* How many elements it has. */
long long pl_part_count(long long total, struct pl_shares parts, int rank);
/* A rank whose part is not smaller than any other. */
int pl_largest_part(struct pl_shares parts);

bool pl_function_reduces(enum pl_function function);
bool pl_function_has_root(enum pl_function function);
/* The parts may differ in length. */
bool pl_function_has_counts(enum pl_function function);

/* The counts and displacements fit the `int`s of MPI's interface. */
bool pl_shape_fits(enum pl_function function, long long bytes, size_t type_size,
                   struct pl_shares parts);

#endif
